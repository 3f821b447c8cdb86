import type { AuditEntry } from '../../../../src/contract/audit.ts'

type Fields = Readonly<Record<string, unknown>>

/** A field that an entry of the audit log changed. */
export interface FieldChange {
  readonly name: string
  /** JSON; undefined when the field was absent. */
  readonly before: string | undefined
  readonly after: string | undefined
}

const json = (fields: Fields | null, name: string): string | undefined =>
  fields !== null && name in fields ? JSON.stringify(fields[name]) : undefined

/** Returns the fields that differ between the two states, in the order of their names. */
export function changedFields({ before, after }: Pick<AuditEntry, 'before' | 'after'>): readonly FieldChange[] {
  return [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
    .sort()
    .map(name => ({ name, before: json(before, name), after: json(after, name) }))
    .filter(change => change.before !== change.after)
}

const maxChars = 60

const short = (text: string | undefined): string =>
  text === undefined ? 'none' : text.length > maxChars ? `${text.slice(0, maxChars)}…` : text

/** Says in one line what an entry changed: `max_budget 5 → 50, label "a" → "b"`; only the names of many fields. */
export function changeDigest(entry: Pick<AuditEntry, 'before' | 'after'>): string {
  const changes = changedFields(entry)
  if (entry.before === null) return changes.map(({ name }) => name).join(', ')
  if (entry.after === null) return `was ${changes.map(({ name, before }) => `${name} ${short(before)}`).join(', ')}`
  return changes.map(({ name, before, after }) => `${name} ${short(before)} → ${short(after)}`).join(', ')
}

/** Address of an object in the console; undefined for objects without a page. */
export function addressOf({ action, object_id: id }: Pick<AuditEntry, 'action' | 'object_id'>): string | undefined {
  const [kind = ''] = action.split('.')
  const open = encodeURIComponent(id)
  const addresses: Readonly<Record<string, string>> = {
    key: `/console/keys?open=${open}`,
    agent: `/console/agents/${open}`,
    skill: `/console/skills?open=${open}`,
    model: `/console/models?open=${open}`,
    deployment: `/console/models?open=${open}`,
    provider: `/console/models?tab=providers&open=${open}`,
    runtime: `/console/runtimes?open=${open}`,
    runtime_harness: `/console/runtimes?open=${open}`,
    budget: `/console/budgets?open=${encodeURIComponent(id.replace(':', '/'))}`,
    schedule: `/console/schedules?open=${open}`,
    mcp_server: `/console/mcp?open=${open}`,
  }
  return addresses[kind]
}

/** Kinds of objects whose changes are recorded, for the filter. */
export const kinds: readonly (readonly [pattern: string, label: string])[] = [
  ['agent.*', 'agents'],
  ['key.*', 'API keys'],
  ['budget.*', 'budgets'],
  ['freeze.*', 'freezes'],
  ['work.*', 'stopped work'],
  ['provider.*', 'providers'],
  ['model.*', 'models'],
  ['deployment.*', 'deployments'],
  ['runtime.*', 'built-in runtimes'],
  ['runtime_harness.*', 'registered runtimes'],
  ['mcp_server.*', 'MCP servers'],
  ['mcp_login.*', 'MCP logins'],
  ['vault.*', 'vault entries'],
  ['encryption_key.*', 'encryption keys'],
  ['skill.*', 'skills'],
  ['memory.*', 'memories'],
  ['schedule.*', 'schedules'],
  ['environment.*', 'environments'],
  ['webhook_endpoint.*', 'webhook endpoints'],
  ['call_bodies.*', 'recorded bodies'],
]
