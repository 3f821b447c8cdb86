import type { CaseComparison, Experiment, ExperimentCase } from '../../../../src/contract/experiments.ts'
import type { StateWord } from '../../parts/activity.ts'

export const experimentStates: Readonly<Record<Experiment['state'], StateWord>> = {
  running: { state: 'running', word: 'running' },
  cancelling: { state: 'waiting', word: 'cancelling' },
  done: { state: 'done', word: 'done' },
  cancelled: { state: 'stopped', word: 'cancelled' },
}

export const caseStates: Readonly<Record<ExperimentCase['state'], StateWord>> = {
  waiting: { state: 'waiting', word: 'waiting' },
  running: { state: 'running', word: 'running' },
  grading: { state: 'running', word: 'grading' },
  passed: { state: 'done', word: 'passed' },
  failed: { state: 'failed', word: 'failed' },
  error: { state: 'failed', word: 'error' },
  cancelled: { state: 'stopped', word: 'cancelled' },
}

export const changes: Readonly<Record<CaseComparison['change'], StateWord>> = {
  worse: { state: 'failed', word: 'worse' },
  better: { state: 'done', word: 'better' },
  same: { state: 'stopped', word: 'same' },
  only_in_base: { state: 'stopped', word: 'only before' },
  only_in_other: { state: 'stopped', word: 'only now' },
}

const errorWords: Readonly<Record<NonNullable<ExperimentCase['error']>['type'], string>> = {
  case_deleted: 'case deleted',
  not_started: 'not started',
  session_failed: 'session failed',
  stopped: 'stopped',
  timed_out: 'timed out',
  budget_reached: 'budget reached',
  approval_required: 'approval required',
  grader_error: 'grader failed',
}

/** Returns the state of a case; an error by its type. */
export const caseState = ({ state, error }: Pick<ExperimentCase, 'state' | 'error'>): StateWord =>
  error ? { state: 'failed', word: errorWords[error.type] } : caseStates[state]

/** Formats a share: `92 %`; none before the first result. */
export const percent = (share: number | null): string => (share === null ? 'none yet' : `${Math.round(share * 100)} %`)

/** What the experiment runs: `Scribe v3`, or a model. */
export function subjectOf(
  { agent_id, agent_version, model }: Pick<Experiment, 'agent_id' | 'agent_version' | 'model'>,
  names: ReadonlyMap<string, string>,
): string {
  if (agent_id === null) return model ?? ''
  const agent = `${names.get(agent_id) ?? agent_id} v${agent_version}`
  return model === null ? agent : `${agent} on ${model}`
}
