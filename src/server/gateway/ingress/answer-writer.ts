import type { ProblemWriter } from './client-refusal.ts'
import type { PivotEvent } from './pivot-event.ts'

/** Says an answer in a client's own format, event by event. One answer each. */
export interface AnswerWriter {
  /** The frames that go out for `event`; empty when there is nothing to say, or no stream is wanted. */
  take(event: PivotEvent): string
  /** The whole answer, once it has ended without an error. */
  whole(): object
  /** A failure in the client's own format. */
  readonly problem: ProblemWriter
}
