import type { NewEvent } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import type { Json } from '../../platform/json.ts'
import { type BudgetStop, pausedByBudget } from '../endings.ts'
import type { ProgramMcp } from '../local/program-mcp.ts'
import { type Batch, failed, idle, type RunContext } from '../runtime.ts'
import type { AgentTurn, TurnItem } from './agent.ts'
import { Normalizer } from './normalize.ts'
import type { CallPolicy } from './policy.ts'
import { createQuestions, type Questions } from './questions.ts'
import type { McpToolCall } from './tool-calls.ts'

interface Options {
  readonly turn: AgentTurn
  readonly context: RunContext
  readonly policy: CallPolicy
  /** Returns true once a call has the name of its tool. */
  readonly isNamed: (call: Json) => boolean
  /** Returns the memory tool of a call; undefined for other calls. */
  readonly memoryTool: (call: Json) => string | undefined
  /** Returns the tool of an MCP server that a call is for; undefined for other calls. */
  readonly mcpTool: (call: Json) => McpToolCall | undefined
  readonly mcp: Pick<ProgramMcp, 'policyOf' | 'approve'>
  /** Returns the budget that stopped the program; undefined before. */
  readonly stop: () => BudgetStop | undefined
}

interface Followed extends Options {
  readonly normalizer: Normalizer
  readonly questions: Questions
}

/** How long a wait for a message lasts. A permission request for an announced call must arrive within this time. */
const pollMs = 200
/** The same while a person is asked: a decision ends the wait. */
const questionPollMs = 60_000

/** Follows a turn of a program to its end, and always leaves it. */
export async function* followTurn(options: Options): AsyncGenerator<Batch> {
  const normalizer = new Normalizer(() => newId('evt'), options.mcpTool)
  const followed = { ...options, normalizer, questions: createQuestions({ ...options, normalizer }) }
  const { turn, context, questions } = followed
  try {
    for (;;) {
      const reason = reasonToLeave(followed)
      if (reason !== undefined) return yield* left(followed, reason)
      const { decided } = questions
      yield* questions.answer()
      const ms = questions.areOpen && !questions.areEarly ? questionPollMs : pollMs
      const item = await turn.next(ms, AbortSignal.any([context.signal, decided]))
      if (isEnd(item)) return yield [...normalizer.end(noResult), lastOf(item, options.stop())]
      yield* item ? take(followed, item) : batchOf(normalizer.settle())
      yield* questions.requestNamed()
    }
  } finally {
    questions.withdraw()
    turn.leave()
  }
}

const noResult = 'the turn ended without a result of the call'

/** Returns the result text of interrupted calls when the turn must end now; undefined while it may continue. */
function reasonToLeave({ context, stop, questions, normalizer }: Followed): string | undefined {
  if (context.signal.aborted) return 'stopped on request; the outcome of the call is unknown'
  if (stop()) return 'stopped by a budget; the outcome of the call is unknown'
  // An open question ends with the program: the process that resumes the run asks again.
  const isBetweenSteps = questions.areOpen || !normalizer.hasOpenCalls
  return context.isDraining() && isBetweenSteps ? 'the server was stopped before the call ended' : undefined
}

function* left({ context, stop, questions, normalizer }: Followed, reason: string): Generator<Batch> {
  const end = context.signal.aborted ? undefined : stop()
  // Otherwise the log would still show that a person is asked.
  const running = questions.areOpen ? [{ type: 'session.status_running' } as const] : []
  yield* batchOf([...normalizer.end(reason), ...running, ...(end ? [pausedByBudget(end)] : [])])
}

function* take({ context, normalizer, questions }: Followed, item: TurnItem): Generator<Batch> {
  if (item.kind === 'permission') yield* questions.requestApproval(item.request)
  if (item.kind !== 'update') return
  const { events, preview } = normalizer.take(item.update)
  if (preview) context.preview(preview.eventId, preview.text)
  yield* batchOf(events)
}

function* batchOf(events: readonly NewEvent[]): Generator<Batch> {
  if (events.length > 0) yield events
}

type End = Extract<TurnItem, { kind: 'ended' | 'failed' }>

const isEnd = (item: TurnItem | undefined): item is End => item?.kind === 'ended' || item?.kind === 'failed'

const incomplete: Readonly<Record<string, string>> = {
  max_tokens: 'the answer was truncated at its limit',
  max_turn_requests: 'the program reached its limit of model calls in one turn',
  cancelled: 'the program stopped by itself',
}

/** Returns the last event of a run. A budget rejection reaches the program first, and may have ended its turn. */
function lastOf(item: End, stop: BudgetStop | undefined): NewEvent {
  if (stop) return pausedByBudget(stop)
  if (item.kind === 'failed') return failed(item.failure.type, item.failure.message)
  const { stopReason } = item
  if (stopReason === 'refusal') return idle({ type: 'refusal' })
  const message = incomplete[stopReason]
  return idle({ type: 'end_turn' }, message === undefined ? null : { type: stopReason, message })
}
