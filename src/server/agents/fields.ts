import type { Agent, AgentFile, AgentWrite } from '../../contract/agents.ts'
import { skillMarker } from '../../contract/attached-skill.ts'
import type { AgentFields, ServerField, StoredAgent } from './stored-agent.ts'

/** Defaults for fields that the caller omits. */
export interface AgentDefaults {
  readonly model: string
  readonly runtime: string
}

interface Write {
  readonly write: AgentWrite
  /** The agent before the write; undefined for a new one. */
  readonly before: StoredAgent | undefined
  readonly defaults: AgentDefaults
}

/** How a field is shown. */
export interface ShownRule<Value> {
  /** How the difference of two versions shows it: as a whole, line by line, or each key on its own. */
  readonly diff: 'whole' | 'lines' | 'keys' | 'hidden'
  /** How the audit log shows it. A digest is for texts that can be long or contain a secret. */
  readonly audit: 'whole' | 'digest' | 'hidden' | ((value: Value) => unknown)
  /** Value in versions that were stored before agents had the field. */
  readonly ifAbsent?: Value
}

/** What the server does with a field that a write sets. */
interface FieldRule<Value> extends ShownRule<Value> {
  /** Returns the value after a write: absent means unchanged, null clears. Gaps: section 4. */
  readonly after: (write: Write) => Value
  /** Stored as JSON. */
  readonly isJson?: true
  /** Part of an agent's file. */
  readonly inFile: boolean
  /** Part of the agent's object in the Managed Agents API, which `managed-agents/agent-object.ts` builds. */
  readonly inDialect: boolean
  /** A change of it makes the caller's key the one under which triggers run. */
  readonly isWork?: true
}

/**
 * Every field of an agent that a write sets. Columns, writes, version differences, agent files and the audit log follow
 * from this table.
 */
export const agentFields: { readonly [Name in keyof AgentFields]: FieldRule<AgentFields[Name]> } = {
  name: { after: ({ write }) => write.name, diff: 'whole', audit: 'whole', inFile: true, inDialect: true },
  owner_id: { after: ({ write }) => write.owner_id, diff: 'whole', audit: 'whole', inFile: true, inDialect: false },
  model: {
    after: ({ write, before, defaults }) => valueAfter(write.model, before?.model, defaults.model),
    diff: 'whole',
    audit: 'whole',
    inFile: true,
    inDialect: true,
    isWork: true,
  },
  system: { after: systemAfter, diff: 'lines', audit: 'digest', inFile: true, inDialect: true },
  description: {
    after: ({ write, before }) => valueAfter(write.description, before?.description, null),
    diff: 'lines',
    audit: 'digest',
    inFile: true,
    inDialect: true,
  },
  harness: { after: runtimeAfter, diff: 'whole', audit: 'whole', inFile: true, inDialect: false },
  tools: {
    after: ({ write, before }) => valueAfter<unknown>(write.tools, before?.tools, {}),
    isJson: true,
    diff: 'whole',
    audit: 'digest',
    inFile: true,
    inDialect: true,
    isWork: true,
  },
  config: {
    after: write => ({ ...configAfter(write), runtime: runtimeAfter(write) }),
    isJson: true,
    diff: 'keys',
    audit: 'digest',
    inFile: true,
    inDialect: true,
    isWork: true,
  },
  skills: {
    after: write => (write.before?.skills ?? []).filter(({ id }) => systemAfter(write).includes(skillMarker(id))),
    isJson: true,
    // The difference of `system` shows their blocks; a file has them beside the agent.
    diff: 'hidden',
    audit: skills => skills.map(({ id }) => id),
    inFile: false,
    inDialect: true,
    ifAbsent: [],
  },
}

/** Every field of an agent that the server sets. */
const serverFields: { readonly [Name in ServerField]: ShownRule<StoredAgent[Name]> } = {
  // An audit entry has the id and the time itself.
  id: { diff: 'hidden', audit: 'hidden' },
  created_at: { diff: 'hidden', audit: 'hidden' },
  version: { diff: 'hidden', audit: 'whole' },
  status: { diff: 'whole', audit: 'whole' },
  run_as_key_id: { diff: 'hidden', audit: 'whole', ifAbsent: null },
}

type StoredFields = AgentFields & Pick<StoredAgent, ServerField>

/** How each stored field is shown. */
export const shownFields: { readonly [Name in keyof StoredFields]: ShownRule<StoredFields[Name]> } = {
  ...agentFields,
  ...serverFields,
}

/** Names of all stored fields: columns of `agents`, and keys of a version's snapshot. */
export const storedNames = Object.keys(shownFields) as readonly (keyof StoredAgent)[]

export type FieldName = keyof AgentFields

export const fieldNames = Object.keys(agentFields) as readonly FieldName[]

/** Returns the names of the fields whose rule matches. */
export const fieldsWhere = (
  matches: (rule: Pick<FieldRule<unknown>, 'isJson' | 'inFile' | 'inDialect' | 'isWork'>) => boolean,
): readonly FieldName[] => fieldNames.filter(name => matches(agentFields[name]))

/** Returns the fields after a write, of a new agent when `before` is undefined. */
export function fieldsAfter(write: AgentWrite, before: StoredAgent | undefined, defaults: AgentDefaults): AgentFields {
  const values = fieldNames.map(name => [name, agentFields[name].after({ write, before, defaults })])
  return Object.fromEntries(values) as AgentFields
}

/** Returns the agent of a stored version; fields that agents did not have then get the value of their rule. */
export function completed(snapshot: Partial<StoredAgent>): StoredAgent {
  const missing = storedNames.filter(name => !(name in snapshot)).map(name => [name, shownFields[name].ifAbsent])
  return { ...snapshot, ...Object.fromEntries(missing) } as StoredAgent
}

/** Returns the fields of `agent` that are part of a file. */
export const fileFields = (agent: StoredAgent) => pick(agent, inFile) as AgentFile['agent']

/** Returns some fields of an agent. */
export const pick = (agent: StoredAgent, names: readonly FieldName[]): Partial<AgentFields> =>
  Object.fromEntries(names.map(name => [name, agent[name]]))

const inFile = fieldsWhere(rule => rule.inFile)

const valueAfter = <Value>(given: Value | null | undefined, before: Value | undefined, cleared: Value): Value =>
  given === undefined && before !== undefined ? before : (given ?? cleared)

function systemAfter({ write, before }: Write): string {
  if (before === undefined) return write.system ?? write.prompt ?? ''
  return write.system === undefined ? valueAfter(write.prompt, before.system, '') : (write.system ?? '')
}

/** Top-level keys of the write replace those of the agent; a null key is removed. */
function configAfter({ write, before }: Write): Agent['config'] {
  const current = write.config === null ? {} : { ...before?.config, ...write.config }
  return Object.fromEntries(Object.entries(current).filter(([, value]) => value !== null))
}

function runtimeAfter({ write, before, defaults }: Write): string {
  const configured = configAfter({ write, before, defaults })['runtime']
  // A client that sends a record back with a new `config.runtime` still sends the old harness: ignore it.
  const isEcho = before !== undefined && write.harness === before.harness && write.config?.['runtime'] !== undefined
  const harness = isEcho ? undefined : write.harness
  const isCleared = before !== undefined && (write.runtime === null || harness === null)
  return String(write.runtime ?? harness ?? (isCleared ? defaults.runtime : (configured ?? defaults.runtime)))
}
