import type { AgentFile } from '../../contract/agents.ts'
import { fieldsWhere, fileFields } from './fields.ts'
import type { StoredAgent } from './stored-agent.ts'

interface Secrets {
  /** Returns the value with the text of every secret member replaced by `marker`. */
  readonly mask: (fields: object) => object
  readonly marker: string
}

/** Returns an agent as one file. Members of JSON fields with a secret are omitted and listed in `omitted`. */
export function agentFile({ config, ...agent }: StoredAgent, { mask, marker }: Secrets): AgentFile {
  const omitted: string[] = []
  // Version numbers are specific to the agent.
  const { pinned_version: _, ...settings } = config
  const whole = fileFields({ ...agent, config: settings })
  const json = Object.fromEntries(Object.entries(whole).filter(([name]) => jsonFields.has(name)))
  const exported = pruned(json, { masked: mask(json), marker, path: '', omitted }) as typeof json
  return {
    format: 'switchyard.agent',
    format_version: 1,
    agent: { ...whole, ...exported },
    skills: [...agent.skills],
    omitted,
  }
}

const jsonFields: ReadonlySet<string> = new Set(fieldsWhere(({ isJson }) => isJson === true))

interface Position {
  readonly masked: unknown
  readonly marker: string
  readonly path: string
  readonly omitted: string[]
}

/** Fields with names of vault entries: not secrets, although their field names look so. */
const isEntryNameField = (path: string): boolean =>
  /^config\.webhook(\.\w+)*\.secret_keys?(\[\d+\])?$|^config\.vault_keys(\[\d+\]|\.\w+)*$|^config\.network\.secrets\[\d+\]\.vault_key$/.test(
    path,
  )

/** Fields that describe how a sender signs, and which requests get a secret: not secrets either. */
const isPublicSetting = (path: string): boolean =>
  /^config\.webhook\.signature\.(preset|mode|prefix|algorithm|encoding|separator|(timestamp_)?header)$|^config\.network\.secrets\[\d+\]\.(host|header|auth_type)$/.test(
    path,
  )

const dropped = Symbol('dropped')

function pruned(value: unknown, position: Position): unknown {
  const { masked, marker, path, omitted } = position
  if (typeof value === 'string') {
    const isPublic = masked !== marker || value === marker || isPublicSetting(path)
    if (isPublic || (isEntryNameField(path) && isEntryName(value))) return value
    omitted.push(path)
    return dropped
  }
  if (typeof value !== 'object' || value === null) return value
  const below = (key: string | number, member: unknown) =>
    pruned(member, {
      ...position,
      masked: (masked as Readonly<Record<string | number, unknown>>)[key],
      path: typeof key === 'number' ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`,
    })
  if (Array.isArray(value)) return value.map((member, at) => below(at, member)).filter(member => member !== dropped)
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, below(key, member)] as const)
      .filter(([, member]) => member !== dropped),
  )
}

/** True for a valid name of a vault entry, except texts that look like a provider key put here by mistake. */
const isEntryName = (text: string): boolean => /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}$/.test(text) && !/^sk-/.test(text)
