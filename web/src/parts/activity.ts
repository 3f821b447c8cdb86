import type { SessionActivity, SessionSummary } from '../../../src/contract/session-summaries.ts'
import type { StateName } from '../theme.ts'

/** A state for display: its color and its word. */
export interface StateWord {
  readonly state: StateName
  readonly word: string
}

/** A state for display. */
export interface ShownState extends StateWord {
  readonly detail: string | undefined
  /** Since when it counts; undefined for states that do not count. */
  readonly since: string | undefined
}

type Kind = SessionActivity['kind']

const words: Readonly<Record<Exclude<Kind, 'idle'>, readonly [StateName, string]>> = {
  queued: ['waiting', 'queued'],
  starting: ['running', 'starting runtime'],
  model: ['running', 'model thinking'],
  tool: ['running', 'tool running'],
  working: ['running', 'running'],
  approval: ['attention', 'waiting for approval'],
  custom_tool: ['attention', 'waiting for a custom tool'],
  subagent: ['running', 'waiting for a called agent'],
  retry: ['waiting', 'retrying'],
  budget: ['waiting', 'paused: budget'],
  freeze: ['waiting', 'paused: spending is frozen'],
  failed: ['failed', 'failed'],
  deleted: ['stopped', 'deleted'],
}

const counting: ReadonlySet<Kind> = new Set([
  'queued',
  'starting',
  'model',
  'tool',
  'working',
  'approval',
  'custom_tool',
  'subagent',
  'retry',
  'budget',
  'freeze',
])

/** Reasons of idle sessions that are not a plain end. */
const idleWords: Readonly<Record<string, readonly [StateName, string]>> = {
  interrupted: ['stopped', 'stopped'],
  cancelled: ['stopped', 'stopped'],
  budget_reached: ['waiting', 'paused: budget'],
  retries_exhausted: ['failed', 'failed'],
}

/** Returns state, word and detail of what a session does now. */
export function shownActivity({ activity, requests }: Pick<SessionSummary, 'activity' | 'requests'>): ShownState {
  const { kind, name, since, reason, message } = activity
  const [state, word] =
    kind === 'idle' ? (idleWords[reason ?? ''] ?? (['done', requests === 0 ? 'new' : 'idle'] as const)) : words[kind]
  const detail = name ?? message ?? undefined
  return { state, word, detail, since: counting.has(kind) ? (since ?? undefined) : undefined }
}
