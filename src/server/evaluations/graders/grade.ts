import type { Grade, Grader } from '../../../contract/graders.ts'
import type { ResultSchemas } from '../../platform/result-schema/result-schemas.ts'
import { gradeCommand, type RunInSession } from './command-grader.ts'
import { type Graded, GraderError, labelOf, type Verdict } from './graded.ts'
import { type CallJudge, gradeByJudge } from './judge.ts'
import { gradeContains, gradeExact, gradeRegex, gradeSchema } from './text-graders.ts'

interface Deps {
  readonly resultSchemas: Pick<ResultSchemas, 'mismatch' | 'isMatch'>
  readonly runInSession: RunInSession
  readonly callJudge: CallJudge
}

/** Results of all graders of a case, and its score. */
export interface CaseGrades {
  readonly grades: readonly Grade[]
  readonly passed: boolean
  /** Mean of the scores; 1 without graders. */
  readonly score: number
}

/** Returns a function that runs the graders of a case in their order. Throws GraderError that names the grader. */
export function createGrading({ resultSchemas, runInSession, callJudge }: Deps) {
  const verdictOf = (grader: Grader, graded: Graded): Verdict | Promise<Verdict> => {
    switch (grader.type) {
      case 'exact':
        return gradeExact(grader, graded.answer)
      case 'contains':
        return gradeContains(grader, graded.answer)
      case 'regex':
        return gradeRegex(grader, graded.answer, resultSchemas.isMatch)
      case 'json_schema':
        return gradeSchema(grader, graded.answer, resultSchemas.mismatch)
      case 'command':
        return gradeCommand(grader, graded, runInSession)
      case 'judge':
        return gradeByJudge(grader, graded, callJudge)
    }
  }

  return async (graders: readonly Grader[], graded: Graded): Promise<CaseGrades> => {
    const grades: Grade[] = []
    for (const grader of graders) {
      try {
        grades.push({ grader: labelOf(grader), type: grader.type, ...(await verdictOf(grader, graded)) })
      } catch (error) {
        if (!(error instanceof GraderError)) throw error
        throw new GraderError(`${labelOf(grader)}: ${error.message}`, { cause: error })
      }
    }
    const total = grades.reduce((sum, { score }) => sum + score, 0)
    return {
      grades,
      passed: grades.every(({ passed }) => passed),
      score: grades.length === 0 ? 1 : total / grades.length,
    }
  }
}
