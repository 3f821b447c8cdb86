import type { ApiKey } from '../../../../src/contract/keys.ts'
import { budgetUse } from '../../parts/budget-use.ts'
import type { StateName } from '../../theme.ts'

/** State of a key as icon and word. */
export interface KeyStatus {
  readonly state: StateName
  readonly word: string
  /** False for keys that the service no longer accepts. */
  readonly isValid: boolean
}

const soonMs = 7 * 86_400_000

type Facts = Pick<ApiKey, 'revoked_at' | 'expires_at' | 'max_budget' | 'spend' | 'reserved'>

/** Returns the state of a key: what prevents its calls, else what soon will. */
export function keyStatus(key: Facts, now: number): KeyStatus {
  if (key.revoked_at !== null) return { state: 'stopped', word: 'revoked', isValid: false }
  const restMs = key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at) - now
  if (restMs <= 0) return { state: 'stopped', word: 'expired', isValid: false }
  const use = budgetUse(key)
  if (use?.state === 'used') return { state: 'failed', word: 'budget used up', isValid: true }
  if (use?.state === 'near') return { state: 'waiting', word: 'budget nearly used up', isValid: true }
  if (restMs < soonMs) return { state: 'waiting', word: 'expires soon', isValid: true }
  return { state: 'done', word: 'active', isValid: true }
}

/** The label of a key; its first and last characters when it has none. */
export const keyName = ({ label, prefix, last4 }: Pick<ApiKey, 'label' | 'prefix' | 'last4'>): string =>
  label.trim() === '' ? `${prefix}…${last4}` : label
