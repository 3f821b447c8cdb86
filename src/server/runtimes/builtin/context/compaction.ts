import type { ContextCompacted, NewEvent } from '../../../../contract/events.ts'
import { estimateInputTokens } from '../../../gateway/tokens/estimate.ts'
import { idle, type LogReducer, type RunContext, type RunPrompt } from '../../runtime.ts'
import type { Answer } from '../answer.ts'
import { modelUsage } from '../answer-events.ts'
import { Conversation } from '../conversation.ts'
import { paidCall, requestEnd, requestWithRetries, usageEvent } from '../model-tries.ts'
import { bodyOf, withCacheMark } from '../request.ts'
import type { Events, Run } from '../run.ts'
import { summaryOf, tokensOfBlock } from './blocks.ts'
import { type Cut, cutOf } from './cut.ts'
import { limitsOf } from './limits.ts'
import { acceptedMedia } from './media.ts'
import { noContents, withFiles } from './prompt-files.ts'
import { summaryRequest, transcriptOf, withoutMiddle } from './summary-request.ts'
import { withTodos } from './todos.ts'

/** Parameters of a compaction. */
interface CompactionPlan {
  readonly prompt: RunPrompt
  /** Estimated tokens of the system prompt and the tools. */
  readonly fixed: number
  /** Tokens of the prompts that the next request adds. */
  readonly pending: number
  /** Maximum tokens of a request. */
  readonly input: number
  /** Maximum tokens at the end of the conversation that stay unchanged. */
  readonly retained: number
  readonly reason: ContextCompacted['reason']
  /** Events that are stored with the compaction. */
  readonly end?: Events
}

/** Maximum size of the summary, as a share of `input`. */
const summaryShare = 0.25
const maxWords = 1_500

/**
 * Replaces the older part of the conversation with a summary by the model, and rebuilds the conversation from the log.
 * Returns false when the run has ended.
 */
export async function* compact(run: Run, plan: CompactionPlan): AsyncGenerator<Events, boolean> {
  const { context } = run
  const { fixed, pending, input, retained, reason } = plan
  const { conversation, last } = await conversationOf(context)
  const left = Math.max(0, Math.floor(input * (1 - summaryShare)) - fixed - pending)
  // A prompt without an answer stays unchanged if that leaves room for the summary.
  const newest = reason === 'request' ? 0 : left
  const cut = cutOf(conversation.transcript, { retained: Math.min(retained, left), newest })
  if (!cut) return true
  const summarized = yield* summarize(run, { plan, conversation, cut })
  if (!summarized) return false

  const summary = withoutMiddle(summarized.summary, Math.floor(input * summaryShare) * 3)
  const compaction: ContextCompacted = {
    summary,
    kept_from_seq: cut.from ?? last + 1,
    waiting_seqs: conversation.waitingAt(cut.from ?? last + 1),
    prompt_ids: await promptsIn(run, plan, conversation),
    tokens_before: conversation.transcript.tokens(fixed),
    tokens_after: fixed + tokensOfBlock(summaryOf(summary)) + conversation.transcript.tokensFrom(cut.at),
    reason,
    ...(conversation.foundTools.length > 0 && { found_tools: [...conversation.foundTools] }),
    ...(conversation.outcomes.lastVerdict && { outcome: conversation.outcomes.lastVerdict }),
  }
  yield [...summarized.events, { type: 'agent.thread_context_compacted', ...compaction }, ...(plan.end ?? [])]
  run.conversation = (await conversationOf(context)).conversation
  return true
}

/** Returns the prompts of the run that are in the conversation. The run of a compaction request has none. */
async function promptsIn({ context }: Run, { reason }: CompactionPlan, conversation: Conversation): Promise<string[]> {
  if (reason === 'request') return []
  return (await context.prompts()).map(({ id }) => id).filter(id => conversation.includes(id))
}

/**
 * Compacts after the model rejected a request as too long, whatever the estimate was. Returns false when the run has
 * ended.
 */
export async function* compactAfterRejection(run: Run, prompt: RunPrompt): AsyncGenerator<Events, boolean> {
  const fixed = fixedOf(run, prompt)
  const limits = limitsOf(run, prompt)
  // Three quarters of the rejected size: the context window may be smaller than configured.
  const input = Math.min(limits.input, Math.floor(run.conversation.transcript.tokens(fixed) * 0.75))
  const retained = Math.min(limits.retained, Math.floor(input / 4))
  return yield* compact(run, { prompt, fixed, pending: 0, input, retained, reason: 'auto' })
}

/** Runs a user's request to compact the conversation. */
export async function* compactOnRequest(run: Run): AsyncGenerator<Events> {
  const { prompt, context } = run
  if (context.signal.aborted || context.isDraining()) return
  if (run.conversation.transcript.size === 0) {
    yield [
      idle(
        { type: 'end_turn' },
        { type: 'nothing_to_compact', message: 'no message was added since the last compaction' },
      ),
    ]
    return
  }
  const { input } = limitsOf(run, prompt)
  const end = [idle({ type: 'end_turn' })]
  yield* compact(run, { prompt, fixed: fixedOf(run, prompt), pending: 0, input, retained: 0, reason: 'request', end })
}

const fixedOf = (run: Run, prompt: RunPrompt): number => estimateInputTokens(bodyOf(run, prompt, []))

const reducer: LogReducer<Conversation> = {
  begin: () => new Conversation(),
  add: (conversation, event) => conversation.add(event),
  copy: conversation => conversation.copy(),
  bytesOf: conversation => JSON.stringify(conversation.transcript.messages).length,
}

/** Rebuilds the conversation from the log; `last` is the sequence number of the last event read. */
export async function conversationOf({ fold }: Pick<RunContext, 'fold'>) {
  const { state: conversation, last } = await fold(reducer)
  return { conversation, last }
}

interface SummaryInput {
  readonly plan: CompactionPlan
  readonly conversation: Conversation
  readonly cut: Cut
}

interface Summary {
  readonly summary: string
  /** Events of the request that returned it; empty when the summary is a shortened transcript. */
  readonly events: readonly NewEvent[]
}

/** Number of requests for a summary, each smaller than the one before, until a shortened transcript is used instead. */
const maxRequests = 5

/**
 * Requests a summary of the conversation before the cut. A request that is too long is repeated at half the size. If
 * the model returns no summary, a shortened transcript replaces it. Returns undefined when the run has ended.
 */
async function* summarize(
  run: Run,
  { plan, conversation, cut }: SummaryInput,
): AsyncGenerator<Events, Summary | undefined> {
  const { prompt, input } = plan
  // The summary names the files of prompts; their content stays in the workspace.
  const messages = withFiles(conversation.transcript.messagesTo(cut.at), noContents)
  const words = Math.max(100, Math.min(maxWords, Math.floor(input * summaryShare * 0.6)))
  let room = input
  for (let count = 0; count < maxRequests; count++) {
    const body = summaryRequest({
      base: bodyOf({ ...run, schema: undefined }, prompt, []),
      messages: withCacheMark(acceptedMedia(messages, run.deps.modelInputs(prompt.model))),
      isOpen: conversation.openToolUses.length > 0,
      room,
      words,
    })
    const outcome = yield* requestWithRetries(run, async function* (startId) {
      yield [
        { id: startId, type: 'span.model_request_start', model: prompt.model, prompt_ids: [], purpose: 'compaction' },
      ]
      const result = await paidCall(run, { prompt, body, onText: () => undefined })
      return { result, prompt, ids: undefined, body }
    })
    if (!outcome) return undefined
    if ('answer' in outcome) {
      const usage = modelUsage(outcome.answer)
      const events = [requestEnd(outcome.startId, { model_usage: usage }), usageEvent(run, usage)]
      const text = outcome.answer.stopReason === 'refusal' ? '' : textOf(outcome.answer)
      return { summary: withTodos(text === '' ? shortened() : text, messages), events }
    }
    room = Math.floor(Math.min(room, estimateInputTokens(body)) / 2)
  }
  return { summary: withTodos(shortened(), messages), events: [] }

  function shortened(): string {
    return transcriptOf(messages, Math.floor(input * summaryShare) * 3)
  }
}

const textOf = ({ blocks }: Answer): string =>
  blocks
    .map(block => (block.type === 'text' ? block.text : ''))
    .join('')
    .trim()
