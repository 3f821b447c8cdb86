import type { Caller } from '../../http/caller.ts'
import { durationMs } from '../../platform/durations.ts'
import { recordOf, textOf } from '../../platform/json.ts'
import type { RunSession } from '../../runtimes/runtime.ts'

/** Who may answer the approvals of a run, and how long. */
export interface ApprovalPolicy {
  /** Key ids, roles and `link`; null: every caller who may see the session. */
  readonly approvers: readonly string[] | null
  readonly expiresInMs: number
}

/** Who answers an approval: a caller, or the holder of its signed link. */
export type Answerer = Caller | 'link'

const defaultMs = 24 * 3_600_000

/** Approvers of sessions that text from outside or a clock has started, so that their agent names none. */
const unattendedApprovers = ['admin', 'link'] as const

const unattendedSources: readonly unknown[] = ['webhook', 'schedule', 'deployment']

/** True for a session that a webhook, a schedule or a deployment has started: no person saw its prompt. */
const isUnattended = ({ source }: RunSession['environment']): boolean => unattendedSources.includes(source)

/** Returns the environment of a session that the agent of this one calls: no person saw its prompt either. */
export const environmentOfCalled = (environment: RunSession['environment']): RunSession['environment'] =>
  isUnattended(environment) ? { source: environment['source'] } : {}

/**
 * Returns the policy of `config.approvals`. Default: 24 h, and every caller who may see the session; only admins and
 * holders of the link when a webhook, a schedule or a deployment has started it. Security: S37.
 */
export function approvalPolicyOf({ config, environment }: Pick<RunSession, 'config' | 'environment'>): ApprovalPolicy {
  const { approvers, expires_in } = recordOf(config['approvals'])
  const named = Array.isArray(approvers) ? approvers.filter(each => typeof each === 'string') : []
  const defaults = isUnattended(environment) ? unattendedApprovers : null
  return {
    approvers: named.length > 0 ? named : defaults,
    expiresInMs: durationMs(textOf(expires_in)) ?? defaultMs,
  }
}

/** Returns whether an approval with these approvers may be answered by `by`. A program of the session never may. */
export function mayAnswer(approvers: readonly string[] | null, by: Answerer): boolean {
  if (by === 'link') return approvers === null || approvers.includes('link')
  if (by.behalf) return false
  if (approvers === null) return true
  return approvers.includes(by.role) || (by.key !== undefined && approvers.includes(by.key.id))
}
