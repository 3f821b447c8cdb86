import type { Schedule, ScheduleRun } from '../../../../src/contract/schedules.ts'
import type { StateWord } from '../../parts/activity.ts'

/** States of runs. Skipped and failed runs did not start a prompt; the others are those of the prompt. */
export const runStates: Readonly<Record<ScheduleRun['state'], StateWord>> = {
  queued: { state: 'waiting', word: 'queued' },
  skipped: { state: 'waiting', word: 'skipped' },
  failed: { state: 'failed', word: 'not started' },
  waiting: { state: 'waiting', word: 'waiting' },
  running: { state: 'running', word: 'running' },
  done: { state: 'done', word: 'done' },
  error: { state: 'failed', word: 'failed' },
  cancelled: { state: 'stopped', word: 'cancelled' },
}

export const causes: Readonly<Record<ScheduleRun['cause'], string>> = {
  tick: 'on time',
  missed: 'missed time',
  manual: 'by hand',
}

/** Returns whether a schedule will run again. */
export function scheduleState({ status, next_run_at }: Pick<Schedule, 'status' | 'next_run_at'>): StateWord {
  if (status === 'paused') return { state: 'stopped', word: 'paused' }
  return next_run_at === null ? { state: 'waiting', word: 'never due again' } : { state: 'done', word: 'active' }
}
