import type { AgentFile } from '../../contract/agents.ts'
import type { StoredAgent } from './store.ts'

interface Secrets {
  /** The same value with the text of every member that names a secret replaced by `marker`. */
  readonly mask: (fields: object) => object
  readonly marker: string
}

/** An agent as one file. Members of `tools` and `config` that hold a secret are left out, and listed. */
export function agentFile({ tools, config, ...agent }: StoredAgent, secrets: Secrets): AgentFile {
  const omitted: string[] = []
  // A number of a version means nothing for another agent.
  const { pinned_version: _, ...settings } = config
  const sent = { tools: tools as AgentFile['agent']['tools'], config: settings }
  const kept = pruned(sent, { masked: secrets.mask(sent), marker: secrets.marker, path: '', omitted }) as typeof sent
  const { name, owner_id, description, model, system, harness, skills } = agent
  return {
    format: 'switchyard.agent',
    format_version: 1,
    agent: { name, owner_id, description, model, system, harness, ...kept },
    skills: [...skills],
    omitted,
  }
}

interface Look {
  readonly masked: unknown
  readonly marker: string
  readonly path: string
  readonly omitted: string[]
}

/** Names of vault entries are no secrets, though their fields are called so. */
const isNameOfEntry = (path: string): boolean =>
  /^config\.webhook(\.\w+)*\.secret_keys?(\[\d+\])?$|^config\.vault_keys(\[\d+\]|\.\w+)*$/.test(path)

/** How a sender signs is no secret either, though its field is called as one. */
const isWayOfSigning = (path: string): boolean =>
  /^config\.webhook\.signature\.(preset|mode|prefix|algorithm|encoding|separator|(timestamp_)?header)$/.test(path)

const left = Symbol('left out')

function pruned(value: unknown, look: Look): unknown {
  const { masked, marker, path, omitted } = look
  if (typeof value === 'string') {
    const isPublic = masked !== marker || value === marker || isWayOfSigning(path)
    if (isPublic || (isNameOfEntry(path) && isEntryName(value))) return value
    omitted.push(path)
    return left
  }
  if (typeof value !== 'object' || value === null) return value
  const below = (key: string | number, member: unknown) =>
    pruned(member, {
      ...look,
      masked: (masked as Readonly<Record<string | number, unknown>>)[key],
      path: typeof key === 'number' ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`,
    })
  if (Array.isArray(value)) return value.map((member, at) => below(at, member)).filter(member => member !== left)
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, below(key, member)] as const)
      .filter(([, member]) => member !== left),
  )
}

/** What the vault takes as a name, and no more: a key of a provider that was put here by mistake stays out. */
const isEntryName = (text: string): boolean => /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}$/.test(text) && !/^sk-/.test(text)
