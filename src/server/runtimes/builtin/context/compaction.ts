import type { ContextCompacted, NewEvent } from '../../../../contract/events.ts'
import { estimateInputTokens } from '../../../gateway/tokens/estimate.ts'
import { idle, type Reading, type RunContext, type RunPrompt } from '../../runtime.ts'
import type { Answer } from '../answer.ts'
import { modelUsage } from '../answer-events.ts'
import { Conversation } from '../conversation.ts'
import { paidCall, requestEnd, untilAnswered, usageEvent } from '../model-tries.ts'
import { bodyOf, withCacheMark } from '../request.ts'
import type { Events, Run } from '../run.ts'
import { summaryOf, tokensOfBlock } from './blocks.ts'
import { type Cut, cutOf } from './cut.ts'
import { limitsOf } from './limits.ts'
import { summaryRequest, transcriptOf, withoutMiddle } from './summary-request.ts'

/** How a conversation is compacted. */
interface Wish {
  readonly prompt: RunPrompt
  /** Tokens of the system prompt and the tools, by estimate. */
  readonly fixed: number
  /** Tokens that the next request adds. */
  readonly pending: number
  /** Tokens that a request may have. */
  readonly input: number
  /** Tokens that stay at the end of the conversation. */
  readonly kept: number
  readonly reason: ContextCompacted['reason']
  /** Stored with the compaction. */
  readonly end?: Events
}

/** The longest summary, as a part of the limit of a request. */
const summaryShare = 0.25
const maxWords = 1_500

/**
 * Has the model summarize the older part of the conversation, and goes on with the summary in its place. What the log holds
 * afterwards is all that counts: the conversation is read from it again. False when the run has ended.
 */
export async function* compact(run: Run, wish: Wish): AsyncGenerator<Events, boolean> {
  const { context } = run
  const { fixed, pending, input, kept, reason } = wish
  const { conversation, last } = await conversationOf(context)
  const left = Math.max(0, Math.floor(input * (1 - summaryShare)) - fixed - pending)
  // A prompt that has no answer yet stays as it is where that leaves room for the summary.
  const newest = reason === 'request' ? 0 : left
  const cut = cutOf(conversation.said, { kept: Math.min(kept, left), newest })
  if (!cut) return true
  const said = yield* summarize(run, { wish, conversation, cut })
  if (!said) return false

  const summary = withoutMiddle(said.summary, Math.floor(input * summaryShare) * 3)
  const compaction: ContextCompacted = {
    summary,
    kept_from_seq: cut.from ?? last + 1,
    waiting_seqs: conversation.waitingAt(cut.from ?? last + 1),
    prompt_ids: await promptsIn(run, wish, conversation),
    tokens_before: conversation.said.tokens(fixed),
    tokens_after: fixed + tokensOfBlock(summaryOf(summary)) + conversation.said.tokensFrom(cut.at),
    reason,
  }
  yield [...said.events, { type: 'agent.thread_context_compacted', ...compaction }, ...(wish.end ?? [])]
  run.conversation = (await conversationOf(context)).conversation
  return true
}

/** Prompts of the run that are in the conversation. The run of a request has none, and none may join it. */
async function promptsIn({ context }: Run, { reason }: Wish, conversation: Conversation): Promise<string[]> {
  if (reason === 'request') return []
  return (await context.prompts()).map(({ id }) => id).filter(id => conversation.includes(id))
}

/** Compacts after the model has refused a request as too long, whatever the estimate was. False when the run has ended. */
export async function* compactAfterRefusal(run: Run, prompt: RunPrompt): AsyncGenerator<Events, boolean> {
  const fixed = fixedOf(run, prompt)
  const limits = limitsOf(run, prompt)
  // Three quarters of what was too much: the window may be smaller than anybody has stated.
  const input = Math.min(limits.input, Math.floor(run.conversation.said.tokens(fixed) * 0.75))
  const kept = Math.min(limits.kept, Math.floor(input / 4))
  return yield* compact(run, { prompt, fixed, pending: 0, input, kept, reason: 'auto' })
}

/** The run of somebody's request to compact. */
export async function* compactOnRequest(run: Run): AsyncGenerator<Events> {
  const { prompt, context } = run
  if (context.signal.aborted || context.isDraining()) return
  if (run.conversation.said.size === 0) {
    yield [
      idle({ type: 'end_turn' }, { type: 'nothing_to_compact', message: 'nothing was said since the last compaction' }),
    ]
    return
  }
  const { input } = limitsOf(run, prompt)
  const end = [idle({ type: 'end_turn' })]
  yield* compact(run, { prompt, fixed: fixedOf(run, prompt), pending: 0, input, kept: 0, reason: 'request', end })
}

const fixedOf = (run: Run, prompt: RunPrompt): number => estimateInputTokens(bodyOf(run, prompt, []))

const reading: Reading<Conversation> = {
  begin: () => new Conversation(),
  add: (conversation, event) => conversation.add(event),
  copy: conversation => conversation.copy(),
  bytesOf: conversation => JSON.stringify(conversation.said.messages).length,
}

/** The conversation that the log tells, and the number of the last event that was read for it. */
export async function conversationOf({ fold }: Pick<RunContext, 'fold'>) {
  const { state: conversation, last } = await fold(reading)
  return { conversation, last }
}

interface Summarized {
  readonly wish: Wish
  readonly conversation: Conversation
  readonly cut: Cut
}

interface Summary {
  readonly summary: string
  /** The end of the request that gave it, where one did. */
  readonly events: readonly NewEvent[]
}

/** How often a request for a summary is made smaller before the conversation itself is cut. */
const maxRequests = 5

/**
 * Asks for the summary of what comes before the cut. A request that is too long is made with half as much; where the model gives
 * no summary, what was said stands for it, cut to what fits. Undefined when the run has ended.
 */
async function* summarize(
  run: Run,
  { wish, conversation, cut }: Summarized,
): AsyncGenerator<Events, Summary | undefined> {
  const { prompt, input } = wish
  const messages = conversation.said.messagesTo(cut.at)
  const words = Math.max(100, Math.min(maxWords, Math.floor(input * summaryShare * 0.6)))
  let room = input
  for (let count = 0; count < maxRequests; count++) {
    const body = summaryRequest({
      base: bodyOf({ ...run, schema: undefined }, prompt, []),
      messages: withCacheMark(messages),
      isOpen: conversation.openToolUses.length > 0,
      room,
      words,
    })
    const asked = yield* untilAnswered(run, async function* (startId) {
      yield [
        { id: startId, type: 'span.model_request_start', model: prompt.model, prompt_ids: [], purpose: 'compaction' },
      ]
      const result = await paidCall(run, { prompt, body, onText: () => undefined })
      return { result, prompt, ids: undefined, body }
    })
    if (!asked) return undefined
    if ('answer' in asked) {
      const usage = modelUsage(asked.answer)
      const events = [requestEnd(asked.startId, { model_usage: usage }), usageEvent(run, usage)]
      const text = asked.answer.stopReason === 'refusal' ? '' : textOf(asked.answer)
      return { summary: text === '' ? shortened() : text, events }
    }
    room = Math.floor(Math.min(room, estimateInputTokens(body)) / 2)
  }
  return { summary: shortened(), events: [] }

  function shortened(): string {
    return transcriptOf(messages, Math.floor(input * summaryShare) * 3)
  }
}

const textOf = ({ blocks }: Answer): string =>
  blocks
    .map(block => (block.type === 'text' ? block.text : ''))
    .join('')
    .trim()
