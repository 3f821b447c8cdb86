import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import type { AnswerOf } from '../sessions/log/run-answer.ts'
import type { DatasetStore } from './dataset-store.ts'
import type { CallerOf } from './experiment-caller.ts'
import type { createGrading } from './graders/grade.ts'
import { GraderError } from './graders/graded.ts'
import type { CaseResult, EndedCase, RunStore } from './run-store.ts'

interface Deps {
  readonly store: Pick<RunStore, 'renew' | 'finish'>
  readonly cases: Pick<DatasetStore, 'content'>
  readonly grade: ReturnType<typeof createGrading>
  readonly answerOf: AnswerOf
  readonly callerOf: CallerOf
  readonly log: Log
}

const renewMs = 10_000
const maxAnswer = 10_000

export type EndCase = (ended: EndedCase, claim: string, signal: AbortSignal) => Promise<void>

/** Returns a function that grades a claimed case and stores its result. A failure is a result of the case. */
export function createCaseEnd({ store, cases, grade, answerOf, callerOf, log }: Deps): EndCase {
  async function resultOf(ended: EndedCase, signal: AbortSignal): Promise<CaseResult> {
    const { session_id: sessionId, prompt_id: promptId, run_id: runId } = ended
    if (promptId === null) return failure('stopped', 'the session was deleted')
    const { text, failure: failed } = await answerOf(sessionId, { promptId, runId: runId ?? '' })
    const answer = text.slice(0, maxAnswer).toWellFormed().replaceAll('\0', '\u{fffd}')
    const stop = stopOf(ended, failed?.message)
    if (stop) return { ...stop, answer }
    const content = await cases.content(ended.case_id)
    if (!content) return { ...failure('case_deleted', 'the case was deleted before it was graded'), answer }
    const { experiment_id: experimentId, case_id: caseId } = ended
    const payer = async () => ({ caller: await callerOf(ended), ownerId: ended.owner_id })
    const graded = { experimentId, caseId, sessionId, payer, prompts: content.prompts, answer: text, signal }
    const { passed, score, grades } = await grade(content.graders, graded)
    return { state: passed ? 'passed' : 'failed', score, grades, answer }
  }

  return async (ended, claim, signal) => {
    const place = { experimentId: ended.experiment_id, position: ended.position, claim }
    const lost = new AbortController()
    const stopRenewing = every(renewMs, async () => {
      // An unreachable database: the claim may still be valid, and the result is stored only if it is.
      if (!(await store.renew(place).catch(() => true))) lost.abort()
    })
    try {
      const ends = AbortSignal.any([signal, lost.signal])
      const result = await resultOf(ended, ends).catch((error: unknown): CaseResult => {
        if (error instanceof GraderError) return failure('grader_error', error.message)
        // The key of the experiment was revoked.
        if (error instanceof AppError && error.code === 'conflict') return failure('grader_error', error.message)
        if (ends.aborted) throw error
        log.error({ err: error, experiment_id: ended.experiment_id }, 'could not grade a case')
        return failure('grader_error', 'internal error of the server; its log has the cause')
      })
      if (!ends.aborted) await store.finish(place, ended.session_id, result)
    } finally {
      await stopRenewing()
    }
  }
}

type ErrorType = NonNullable<CaseResult['error']>['type']

const failure = (type: ErrorType, message: string): CaseResult => ({ state: 'error', error: { type, message } })

/** Returns the result of a session that did not come to its end; undefined for one to be graded. */
function stopOf(ended: EndedCase, message: string | undefined): CaseResult | undefined {
  switch (ended.stop_reason) {
    case 'cancelled':
      return { state: 'cancelled' }
    case 'timed_out':
      return failure('timed_out', `the session was stopped after ${ended.case_timeout_seconds} s`)
    case 'budget_reached':
      return failure('budget_reached', 'the session has used its part of the budget')
    case 'approval_required':
      return failure(
        'approval_required',
        `tool ${ended.asking_tool ?? 'of the agent'} requires an approval, for which an experiment does not wait; set its permission policy to always_allow or always_deny, or use replay`,
      )
    case null:
  }
  if (ended.prompt_state === 'error') return failure('session_failed', message ?? 'a prompt of the session failed')
  if (ended.prompt_state === 'cancelled') return failure('stopped', 'the session was interrupted or deleted')
  return undefined
}
