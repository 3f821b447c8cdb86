import type { BudgetReached } from '../../contract/events.ts'
import { pause } from '../platform/timers.ts'
import type { Payer } from '../runtimes/runtime.ts'
import { GraderError } from './graders/graded.ts'
import type { CallJudge, JudgeRequest } from './graders/judge.ts'

/** A call of a model. It is booked under the id of the experiment, whose judges have a budget of their own. */
export interface JudgeCall {
  readonly experimentId: string
  readonly caseId: string
  readonly ownerId: string
  readonly payer: Payer
  /** A Messages API body. */
  readonly body: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal
}

/** How a call ended. */
export type JudgeAnswer =
  | { readonly text: string }
  | {
      readonly failure: {
        readonly message: string
        readonly isPassing: boolean
        readonly retryAfterMs?: number | undefined
      }
    }
  | { readonly budget: BudgetReached; readonly message: string }

interface Deps {
  readonly call: (call: JudgeCall) => Promise<JudgeAnswer>
  /** Waits between tries; `pause` of the platform by default. */
  readonly wait?: typeof pause
}

const maxTries = 4
const firstWaitMs = 1_000
const maxWaitMs = 30_000
const frozenWaitMs = 2_000

/** Returns a function that calls a judge. A failure that may pass is retried; while spending is frozen, the judge waits. */
export function createCallJudge({ call, wait = pause }: Deps): CallJudge {
  return async request => {
    for (let failures = 0; ; ) {
      const answer = await call(callOf(request))
      if ('text' in answer) return answer.text
      request.signal.throwIfAborted()
      if ('failure' in answer) failures++
      await wait(waitAfter(answer, failures), request.signal)
    }
  }
}

/** Returns the milliseconds to wait before the next try. Throws GraderError for what does not pass. */
function waitAfter(answer: Exclude<JudgeAnswer, { readonly text: string }>, failures: number): number {
  if ('budget' in answer) {
    if (!answer.budget.is_frozen) throw new GraderError(answer.message)
    return frozenWaitMs
  }
  const { message, isPassing, retryAfterMs = firstWaitMs * 2 ** failures } = answer.failure
  if (!isPassing || failures === maxTries) throw new GraderError(message)
  return Math.min(retryAfterMs, maxWaitMs)
}

const callOf = ({
  experimentId,
  caseId,
  payer,
  model,
  system,
  messages,
  maxTokens,
  signal,
}: JudgeRequest): JudgeCall => ({
  experimentId,
  caseId,
  ownerId: payer.ownerId,
  payer: payer.caller,
  body: { model, system, messages, max_tokens: maxTokens },
  signal,
})
