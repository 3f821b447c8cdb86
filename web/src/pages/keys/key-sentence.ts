import type { KeyRole } from '../../../../src/contract/keys.ts'
import { dollars, periodWords } from '../../parts/budget-use.ts'
import { count } from '../../parts/format.ts'

/** The fields of a key that its sentence names. */
export interface KeyRights {
  readonly owner_id: string | null
  readonly user_id: string | null
  readonly team_id: string | null
  readonly role: KeyRole
  /** Empty: all. */
  readonly models: readonly string[]
  readonly max_budget: number | null
  readonly budget_duration: string | null
  readonly rpm_limit: number | null
  readonly tpm_limit: number | null
  readonly max_parallel_requests: number | null
  readonly expires_at: string | null
}

const maxNames = 4

/** Joins words: `a`, `a and b`, `a, b and c`; more than four as `a, b, c and 3 more`. */
export function listOf(words: readonly string[]): string {
  const shown =
    words.length > maxNames ? [...words.slice(0, maxNames - 1), `${words.length - maxNames + 1} more`] : words
  return shown.length < 2 ? (shown[0] ?? '') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

/**
 * Says what a key may do: `This key may call claude-* and gpt-5.5, spend $50 a month, 60 requests a minute, until 31
 * Dec.` Days are those of the viewer.
 */
export function keySentence(key: KeyRights, now: number): string {
  const { rpm_limit: rpm, tpm_limit: tpm, max_parallel_requests: parallel, max_budget: max } = key
  const end = key.expires_at === null ? 'without an end' : `until ${dayOf(Date.parse(key.expires_at), now)}`
  if (key.role === 'viewer') return `${subjectOf(key)} may only read, ${end}.`
  const clauses = [
    `${subjectOf(key)} may call ${key.models.length === 0 ? 'every model' : listOf(key.models)}`,
    max === null ? 'spend without a limit' : `spend ${dollars(max)} ${periodWords(key.budget_duration)}`,
    rpm !== null && `${count(rpm)} ${rpm === 1 ? 'request' : 'requests'} a minute`,
    tpm !== null && `${count(tpm)} tokens a minute`,
    parallel !== null && `${count(parallel)} ${parallel === 1 ? 'call' : 'calls'} at a time`,
    key.role === 'admin' && 'manage keys, providers, models and budgets',
    (key.user_id !== null || key.team_id !== null) && 'within what its user and team may do',
    end,
  ]
  return `${clauses.filter(Boolean).join(', ')}.`
}

const subjectOf = ({ role, owner_id: owner }: KeyRights): string =>
  `This ${role === 'admin' ? 'admin key' : 'key'}${owner === null ? '' : ` of ${owner}`}`

/** `31 Dec`; with the year when it is another one. */
function dayOf(at: number, now: number): string {
  const [day, today] = [new Date(at), new Date(now)]
  const isThisYear = day.getFullYear() === today.getFullYear()
  return day.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...(!isThisYear && { year: 'numeric' }) })
}
