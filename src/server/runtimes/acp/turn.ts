import type { NewEvent } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import type { Json } from '../../platform/json.ts'
import { type BudgetStop, pausedBy } from '../endings.ts'
import { type Batch, failed, idle, type RunContext } from '../runtime.ts'
import type { AgentTurn, TurnItem } from './agent.ts'
import { Normalizer } from './normalize.ts'
import type { CallPolicy } from './policy.ts'
import { createQuestions, type Questions } from './questions.ts'

interface Options {
  readonly turn: AgentTurn
  readonly context: RunContext
  readonly policy: CallPolicy
  /** The name of the memory tool that a call is for, if it is. */
  readonly memoryTool: (call: Json) => string | undefined
  /** Set once a budget has stopped the program. */
  readonly stop: () => BudgetStop | undefined
}

interface Followed extends Options {
  readonly normalizer: Normalizer
  readonly questions: Questions
}

/** How often a wait looks around. A call that is told within this time may still turn out to ask. */
const lookMs = 200
/** While a person is asked there is nothing to see but what is said. */
const askingMs = 60_000

/** Follows a turn of a program to its end. It leaves the turn in any case. */
export async function* followTurn(options: Options): AsyncGenerator<Batch> {
  const normalizer = new Normalizer(() => newId('evt'))
  const followed = { ...options, normalizer, questions: createQuestions({ ...options, normalizer }) }
  const { turn, context, questions } = followed
  try {
    for (;;) {
      const reason = reasonToLeave(followed)
      if (reason !== undefined) return yield* left(followed, reason)
      const { news } = questions
      yield* questions.answer()
      const ms = questions.areOpen ? askingMs : lookMs
      const item = await turn.next(ms, AbortSignal.any([context.signal, news]))
      if (isEnd(item)) return yield [...normalizer.end(noResult), lastOf(item, options.stop())]
      yield* item ? take(followed, item) : told(normalizer.settle())
    }
  } finally {
    questions.withdraw()
    turn.leave()
  }
}

const noResult = 'the turn ended without a result of the call'

/** What is said of calls that are cut off, when the turn must not go on. */
function reasonToLeave({ context, stop, questions, normalizer }: Followed): string | undefined {
  if (context.signal.aborted) return 'stopped on request; what the call has done is not known'
  if (stop()) return 'stopped by a budget; what the call has done is not known'
  // A question dies with the program: whoever goes on asks anew.
  const isBetweenSteps = questions.areOpen || !normalizer.hasOpenCalls
  return context.isDraining() && isBetweenSteps ? 'the server was stopped before the call had ended' : undefined
}

function* left({ context, stop, questions, normalizer }: Followed, reason: string): Generator<Batch> {
  const end = context.signal.aborted ? undefined : stop()
  // Without it the log would go on saying that a person is asked.
  const running = questions.areOpen ? [{ type: 'session.status_running' }] : []
  yield* told([...normalizer.end(reason), ...running, ...(end ? [pausedBy(end)] : [])])
}

function* take({ context, normalizer, questions }: Followed, item: TurnItem): Generator<Batch> {
  if (item.kind === 'permission') yield* questions.ask(item.request)
  if (item.kind !== 'update') return
  const { events, preview } = normalizer.take(item.update)
  if (preview) context.preview(preview.eventId, preview.text)
  yield* told(events)
}

function* told(events: readonly NewEvent[]): Generator<Batch> {
  if (events.length > 0) yield events
}

type End = Extract<TurnItem, { kind: 'ended' | 'failed' }>

const isEnd = (item: TurnItem | undefined): item is End => item?.kind === 'ended' || item?.kind === 'failed'

const cutOff: Readonly<Record<string, string>> = {
  max_tokens: 'the answer was cut off at its limit',
  max_turn_requests: 'the program has made as many model calls as it may in one turn',
  cancelled: 'the program stopped by itself',
}

/** The last event of a run. A refusal for lack of money reaches the program before us, and may have ended its turn. */
function lastOf(item: End, stop: BudgetStop | undefined): NewEvent {
  if (stop) return pausedBy(stop)
  if (item.kind === 'failed') return failed(item.failure.type, item.failure.message)
  const { stopReason } = item
  if (stopReason === 'refusal') return idle({ type: 'refusal' })
  const message = cutOff[stopReason]
  return idle({ type: 'end_turn' }, message === undefined ? null : { type: stopReason, message })
}
