import type { Agent, AgentUpdate } from '../../../../src/contract/agents.ts'

type Config = Readonly<Record<string, unknown>>

/** The fields of an agent that a person edits. */
export interface AgentDraft {
  readonly name: string
  readonly description: string | null
  readonly model: string
  readonly system: string
  readonly harness: string
  readonly tools: unknown
  /** Without `runtime`, which `harness` decides. */
  readonly config: Config
}

/** Returns the fields of an agent for editing. */
export function draftOf({ name, description, model, system, harness, tools, config }: Agent): AgentDraft {
  const { runtime: _, ...settings } = config
  return { name, description, model, system, harness, tools, config: settings }
}

/** A field that differs, with its values as text. Settings are listed one by one. */
export interface FieldChange {
  /** `system`, `config.max_turns` */
  readonly field: string
  readonly before: string
  readonly after: string
}

const fieldNames = ['name', 'description', 'model', 'harness', 'system', 'tools'] as const

/** True for equal JSON values; the order of names does not count. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [names, otherNames] = [Object.keys(one), Object.keys(other)]
  return names.length === otherNames.length && names.every(name => isEqual(memberOf(one, name), memberOf(other, name)))
}

const memberOf = (value: object, name: string): unknown => (value as Config)[name]

/** Returns a value of a field as text; empty for an absent one. */
export const textOf = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2)

const changedKeys = (before: Config, after: Config): readonly string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(key => !isEqual(before[key], after[key]))

/** Lists what differs between two states of an agent. */
export function changesOf(before: AgentDraft, after: AgentDraft): readonly FieldChange[] {
  const fields = fieldNames.filter(name => !isEqual(before[name], after[name]))
  return [
    ...fields.map(name => ({ field: name, before: textOf(before[name]), after: textOf(after[name]) })),
    ...changedKeys(before.config, after.config).map(key => ({
      field: `config.${key}`,
      before: textOf(before.config[key]),
      after: textOf(after.config[key]),
    })),
  ]
}

interface Saved {
  /** The version that the edits began with. */
  readonly base: Agent
  readonly draft: AgentDraft
  readonly note: string
}

/** Returns the body of the update: only what differs, so that other settings keep what others have written. */
export function updateOf({ base, draft, note }: Saved): AgentUpdate {
  const before = draftOf(base)
  const isChanged = (name: (typeof fieldNames)[number]) => !isEqual(before[name], draft[name])
  const keys = changedKeys(before.config, draft.config)
  return {
    name: draft.name,
    owner_id: base.owner_id ?? '',
    expected_version: base.version,
    ...(note.trim() !== '' && { note }),
    ...(isChanged('description') && { description: draft.description }),
    ...(isChanged('model') && { model: draft.model }),
    ...(isChanged('system') && { system: draft.system }),
    ...(isChanged('harness') && { runtime: draft.harness }),
    ...(isChanged('tools') && { tools: draft.tools as NonNullable<AgentUpdate['tools']> }),
    ...(keys.length > 0 && {
      config: Object.fromEntries(keys.map(key => [key, draft.config[key] ?? null])) as NonNullable<
        AgentUpdate['config']
      >,
    }),
  }
}

/** Puts the edits that began with `base` on top of a newer version: changed fields and settings win. */
export function rebased(base: Agent, draft: AgentDraft, newer: Agent): AgentDraft {
  const [before, now] = [draftOf(base), draftOf(newer)]
  const fields = fieldNames.filter(name => !isEqual(before[name], draft[name])).map(name => [name, draft[name]])
  const keys = changedKeys(before.config, draft.config)
  const config = { ...now.config, ...Object.fromEntries(keys.map(key => [key, draft.config[key]])) }
  return { ...now, ...Object.fromEntries(fields), config: withoutAbsent(config) }
}

/** Returns settings without those that are undefined. */
export const withoutAbsent = (config: Config): Config =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined))
