import type { NewEvent } from '../../../contract/events.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { newId } from '../../platform/ids.ts'
import type { Log } from '../../platform/log.ts'
import type { Sandbox } from '../../sandboxes/sandbox.ts'
import type { Sandboxes } from '../../sandboxes/sandboxes.ts'
import { defaultToolLimits, type ToolContext } from '../../tools/tool.ts'
import { type EnabledTool, toolsFor } from '../../tools/toolset.ts'
import { type Batch, failed, idle, type RunContext, type RunPrompt, type RunSession, type Runtime } from '../runtime.ts'
import type { Answer } from './answer.ts'
import { answerEvents, modelUsage } from './answer-events.ts'
import { Conversation } from './conversation.ts'
import { callModel, type ModelFailure } from './model-call.ts'
import { modelRequestBody } from './request.ts'
import { isRepeatable, outcomeUnknown, runToolCalls } from './tool-calls.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'call'>
  readonly sandboxes: Pick<Sandboxes, 'open' | 'remove'>
  /** Records that a session's sandbox is in use. */
  readonly markSandboxRunning: (sessionId: string) => Promise<void>
  readonly log: Log
}

/** One run while it goes on. */
interface Run {
  readonly deps: Deps
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
  readonly conversation: Conversation
  readonly tools: ReadonlyMap<string, EnabledTool>
  /** Opens the sandbox when the first tool needs it. */
  readonly toolContext: () => Promise<ToolContext>
}

const defaultMaxTurns = 100
/** A model call that broke in mid-answer is made again this often. Reliability: Interrupted step. */
const maxRepeats = 2

/** The agent loop over our own gateway: ask the model, run its tools, until it has no more to do. Id `builtin`. */
export function builtinRuntime(deps: Deps): Runtime {
  return {
    id: 'builtin',
    capabilities: {
      streaming: true,
      interrupt: true,
      steer: true,
      approvals: false,
      files: true,
      resume: true,
      cost: true,
      model_per_prompt: true,
    },
    async *run(session, prompt, context) {
      const conversation = new Conversation()
      for await (const event of context.history()) conversation.add(event)
      const toolset = toolsFor(session.tools)
      for (const warning of toolset.warnings)
        deps.log.warn({ session_id: session.id, agent_id: session.agent_id }, warning)
      const tools = new Map(toolset.tools.map(enabled => [enabled.tool.name, enabled]))
      const openSandbox = lentSandbox(deps, session.id)
      const toolContext = async () => ({
        sandbox: await openSandbox(),
        signal: context.signal,
        limits: defaultToolLimits,
        log: deps.log,
      })
      const run: Run = { deps, session, prompt, context, conversation, tools, toolContext }
      // What is yielded is stored, so the conversation in memory always equals the one that a crash would leave.
      for await (const batch of steps(run)) {
        for (const event of batch) conversation.add(event)
        yield batch
      }
    },
    dispose: sessionId => deps.sandboxes.remove(sessionId),
  }
}

/** Opens the sandbox when a tool first needs it. Its recorded state is for people; no run fails by it. */
function lentSandbox({ sandboxes, markSandboxRunning, log }: Deps, sessionId: string): () => Promise<Sandbox> {
  let isMarked = false
  return async () => {
    const sandbox = await sandboxes.open(sessionId)
    if (!isMarked) {
      isMarked = true
      await markSandboxRunning(sessionId).catch((cause: unknown) =>
        log.debug({ err: cause, session_id: sessionId }, 'the state of a sandbox was not recorded'),
      )
    }
    return sandbox
  }
}

async function* steps(run: Run): AsyncGenerator<Batch> {
  const { context, conversation, session } = run
  yield* settleCutOff(run)
  const maxTurns = Number(session.config['max_turns'] ?? defaultMaxTurns)
  for (let turn = 0; turn < maxTurns; turn++) {
    if (context.signal.aborted || context.isDraining()) return
    if (!(yield* askModel(run))) return
    for await (const result of runToolCalls(conversation.openToolUses, run.tools, run.toolContext)) yield [result]
  }
  yield [failed('tool_use_limit_reached_error', `the run took ${maxTurns} turns, its limit; send a prompt to go on`)]
}

/** Gives every tool call that was cut off by a crash its result, and closes a model request without an end. */
async function* settleCutOff({ conversation, tools, toolContext }: Run): AsyncGenerator<Batch> {
  const open = conversation.openRequest
  if (open !== undefined) yield [requestEnd(open, { is_error: true })]
  const uses = conversation.openToolUses
  for (const use of uses) if (!isRepeatable(use, tools)) yield [outcomeUnknown(use)]
  const repeated = uses.filter(use => isRepeatable(use, tools))
  for await (const result of runToolCalls(repeated, tools, toolContext)) yield [result]
}

/**
 * One model request, repeated when it broke. The answer is stored as a whole, and the last one together with the end of
 * the run, so that no crash in between has it asked for again. False when the run has ended.
 */
async function* askModel(run: Run): AsyncGenerator<Batch, boolean> {
  const { context, conversation, session, prompt, tools, deps } = run
  for (let tries = 0; ; tries++) {
    const startId = newId('evt')
    const joined = (await context.prompts()).filter(({ id }) => !conversation.includes(id))
    // One that joined in mid-run came after the history was read.
    for (const { id, parts } of joined) conversation.add({ type: 'user.message', prompt_id: id, content: parts })
    const current = joined.at(-1) ?? prompt
    const prompt_ids = joined.map(({ id }) => id)
    yield [{ id: startId, type: 'span.model_request_start', model: current.model, prompt_ids }]

    const ids = new Map<number, string>()
    const onText = (index: number, text: string) => {
      const id = ids.get(index) ?? newId('evt')
      ids.set(index, id)
      context.preview(id, text)
    }
    const body = modelRequestBody({ session, prompt: current, messages: conversation.messages, tools })
    const result = await callModel(deps.gateway, { session, prompt: current, body, signal: context.signal, onText })
    if (context.signal.aborted) {
      yield [requestEnd(startId, { is_error: true })]
      return false
    }
    if ('answer' in result) {
      const { batch, goesOn } = answered(run, startId, { answer: result.answer, ids })
      yield batch
      return goesOn
    }
    const isLast = tries >= maxRepeats || !result.failure.isRepeatable
    const { type, message } = result.failure
    yield [requestEnd(startId, { is_error: true }), isLast ? failed(type, message) : retrying(result.failure)]
    if (isLast) return false
  }
}

/** What an answer adds to the log, up to the end of the run when the model waits for nothing more. */
function answered(
  { conversation, tools }: Run,
  startId: string,
  { answer, ids }: { answer: Answer; ids: ReadonlyMap<number, string> },
): { batch: Batch; goesOn: boolean } {
  const usage = modelUsage(answer)
  const events = [...answerEvents(answer, ids, tools), requestEnd(startId, { model_usage: usage })]
  if (answer.stopReason === 'pause_turn' || events.some(({ type }) => type === 'agent.tool_use')) {
    return { batch: events, goesOn: true }
  }
  const end = [{ type: 'session.usage', usage: conversation.usageWith(usage) }, endOf(answer)]
  return { batch: [...events, ...end], goesOn: false }
}

const requestEnd = (startId: string, fields: { is_error?: true; model_usage?: object }): NewEvent => ({
  type: 'span.model_request_end',
  model_request_start_id: startId,
  is_error: fields.is_error ?? null,
  model_usage: fields.model_usage ?? null,
})

const retrying = ({ type, message }: ModelFailure): NewEvent => ({
  type: 'session.error',
  error: { type, message, retry_status: { type: 'retrying' } },
})

function endOf({ stopReason }: Answer): NewEvent {
  if (stopReason === 'refusal') return idle({ type: 'refusal' })
  const isCut = stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded'
  return idle({ type: 'end_turn' }, isCut ? { type: stopReason, message: 'the answer was cut off at its limit' } : null)
}
