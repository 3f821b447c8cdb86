import { coversModel } from '../../contract/keys.ts'
import type { BudgetLimits } from '../budgets/store.ts'
import type { ImportedBudget, ImportedKey } from '../keys/import.ts'
import { type Json, nonEmptyText, recordOf } from '../platform/json.ts'
import type { TokenRow } from './tables-store.ts'

/** A converted key, or why it is left out. */
export interface Conversion {
  readonly key?: ImportedKey
  readonly skipped?: string
  /** Settings that were not carried over as they are, with how. */
  readonly remarks: readonly (readonly [setting: string, state: 'approximated' | 'unsupported', detail: string])[]
}

type Remarks = [string, 'approximated' | 'unsupported', string][]

/** LiteLLM's own names in lists of models. */
const everyModel = 'all-proxy-models'
const modelsOfTeam = 'all-team-models'
const noModel = 'no-default-models'

/** Team of the keys with which people are signed in to LiteLLM's own console. */
const consoleTeam = 'litellm-dashboard'
/** User of LiteLLM's master key. */
const masterUser = 'default_user_id'

/** Returns the key of this service for a key of LiteLLM. */
export function convertKey(row: TokenRow, now: Date): Conversion {
  const { token, key, team, user, budget } = row
  const remarks: Remarks = []
  const skipped = reasonToSkip(row, now)
  if (skipped !== undefined) return { skipped, remarks }
  const teamId = nonEmptyText(key['team_id'])
  const userId = nonEmptyText(key['user_id'])
  const ownerId = teamId ?? (userId === masterUser ? undefined : userId)
  // A team limits the keys of its members; the user's own budget applies to keys without a team.
  const owner = teamId === undefined ? user : team
  for (const [setting, detail] of foreignSettings)
    if (isSet(key[setting])) remarks.push([setting, 'unsupported', detail])
  if (ownerId === undefined) remarks.push(['user_id', 'approximated', 'keys without team and user are their own owner'])
  return {
    remarks,
    key: {
      source: 'litellm',
      sha256: token,
      fields: {
        label: (nonEmptyText(key['key_alias']) ?? '').slice(0, 200),
        models: modelsOf(key, owner),
        metadata: metadataOf(key, remarks),
        expires_at: timeOf(key['expires']),
      },
      ownerId: ownerId?.slice(0, 200),
      last4: (nonEmptyText(key['key_name']) ?? '').slice(-4),
      budget: budgetOf(key, budget, { now, remarks }),
      ownerBudget: ownerId !== undefined && owner ? budgetOf(owner, null, { now, remarks }) : undefined,
    },
  }
}

function reasonToSkip({ token, key, team }: TokenRow, now: Date): string | undefined {
  if (!/^[0-9a-f]{64}$/.test(token)) return 'it is stored without a hash; create a new key'
  if (key['team_id'] === consoleTeam) return 'it belongs to a session of the console of LiteLLM'
  if (key['blocked'] === true || team?.['blocked'] === true) return 'it is blocked'
  const expires = timeOf(key['expires'])
  return expires && expires <= now ? 'it has expired' : undefined
}

/** Settings of a key without a counterpart. */
const foreignSettings: readonly (readonly [name: string, detail: string])[] = [
  ['aliases', 'aliases of models belong to the configuration; add entries to model_list'],
  ['config', 'keys have no configuration of their own; set it in model_list'],
  ['permissions', 'keys are limited by models, MCP servers and budgets'],
  ['allowed_routes', 'keys are limited by models, not by routes'],
  ['allowed_cache_controls', 'set `cache` of the key'],
  ['model_max_budget', 'budgets apply to all models of a key; create one key for each model'],
  ['router_settings', 'keys have no router of their own; set `router` in the configuration'],
  ['object_permission_id', 'set mcp_servers and mcp_tools of the key'],
  ['organization_id', 'there are no organizations; the budget of the owner applies'],
  ['project_id', 'there are no projects; the budget of the owner applies'],
  ['access_group_ids', 'list the models of the key'],
  ['policies', 'check calls with hooks'],
]

const isSet = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value !== undefined && value !== null

/** The models of a key, as far as those of its team or user cover them. */
function modelsOf(key: Json, owner: Json | null): string[] {
  const own = namesOf(key['models'])
  const allowed = withoutOwnNames(namesOf(owner?.['models']))
  if (own.includes(noModel)) return [noModel]
  const isAll = own.length === 0 || own.includes(everyModel) || own.includes(modelsOfTeam)
  if (isAll) return allowed
  const covered = own.filter(name => coversModel(allowed, name))
  return covered.length > 0 ? covered : [noModel]
}

/** An empty list stands for all models. */
function withoutOwnNames(names: readonly string[]): string[] {
  return names.includes(everyModel) ? [] : names.filter(name => name !== modelsOfTeam)
}

const maxModels = 500

const namesOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : []).filter(name => typeof name === 'string' && name.trim() !== '').slice(0, maxModels)

const maxMetadataLength = 16_384

function metadataOf(key: Json, remarks: Remarks): Record<string, unknown> {
  const metadata = recordOf(key['metadata'])
  if (JSON.stringify(metadata).length <= maxMetadataLength) return metadata
  remarks.push(['metadata', 'unsupported', `metadata with more than ${maxMetadataLength} characters is left out`])
  return {}
}

interface BudgetContext {
  readonly now: Date
  readonly remarks: Remarks
}

/** The budget of a key, a team or a user; `table`: a named budget, which the own values override. */
function budgetOf(own: Json, table: Json | null, { now, remarks }: BudgetContext): ImportedBudget {
  const of = (name: string): unknown => own[name] ?? table?.[name]
  const duration = durationOf(of('budget_duration'), remarks)
  const given = timeOf(own['budget_reset_at'])
  const isOver = given !== null && given <= now
  const limits: BudgetLimits = {
    max_usd: amountOf(of('max_budget')),
    soft_usd: amountOf(of('soft_budget')),
    duration,
    rpm_limit: countOf(of('rpm_limit'), maxCount),
    tpm_limit: countOf(of('tpm_limit'), maxTokens),
    max_parallel: countOf(of('max_parallel_requests'), maxCount),
  }
  if (limits.tpm_limit !== null)
    remarks.push([
      'tpm_limit',
      'approximated',
      'a call reserves its longest possible answer; send max_tokens or raise it',
    ])
  return {
    limits,
    usd: isOver ? '0' : (amountOf(own['spend']) ?? '0'),
    resetAt: duration === null || isOver ? null : given,
  }
}

const maxCount = 2_147_483_647
const maxTokens = 1e12

const words: Readonly<Record<string, string>> = {
  hourly: '1h',
  daily: '1d',
  weekly: '1w',
  monthly: '1mo',
  yearly: '12mo',
}

function durationOf(value: unknown, remarks: Remarks): string | null {
  const text = nonEmptyText(value)
  if (text === undefined) return null
  const known = Object.hasOwn(words, text) ? words[text] : undefined
  if (known !== undefined) return known
  if (/^[1-9]\d{0,3}(h|d|w|mo)$/.test(text)) return text
  if (/^\d+[sm]$/.test(text)) {
    remarks.push(['budget_duration', 'approximated', 'the shortest period of a budget is 1h'])
    return '1h'
  }
  remarks.push(['budget_duration', 'unsupported', 'a period that is not known is left out; the budget is never reset'])
  return null
}

function amountOf(value: unknown): string | null {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return null
  // A limit without exponent: 12 digits suffice for any price of a token.
  return value.toFixed(12).replace(/\.?0+$/, '')
}

/** A limit of 0 cannot be carried over: the smallest one is 1. */
const countOf = (value: unknown, max: number): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? Math.min(Math.max(1, Math.round(value)), max) : null

/** Times of LiteLLM are in UTC, without a zone. */
function timeOf(value: unknown): Date | null {
  if (typeof value !== 'string') return null
  const date = new Date(/(Z|[+-]\d\d:?\d\d)$/.test(value) ? value : `${value}Z`)
  return Number.isNaN(date.getTime()) ? null : date
}
