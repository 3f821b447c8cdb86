import { recordOf } from '../../data/json.ts'
import type { Editing } from './use-draft.ts'

type Settings = Readonly<Record<string, unknown>>

/** A place in the settings of an agent: `config.max_turns` or `config.network.presets`. */
export interface Place {
  readonly key: string
  /** Name within the setting, which then is an object. */
  readonly name?: string
}

/** Path of a place, as errors of the service name it. */
export const pathOf = ({ key, name }: Place): string => (name === undefined ? `config.${key}` : `config.${key}.${name}`)

/** Returns the value at a place. */
export const valueAt = ({ draft }: Editing, { key, name }: Place): unknown =>
  name === undefined ? draft.config[key] : recordOf(draft.config[key])[name]

/** Writes the value at a place; undefined removes it, and an object that has no members left. */
export function writeAt({ draft, set }: Editing, { key, name }: Place, value: unknown): void {
  if (name === undefined) {
    set(key, value)
    return
  }
  const { [name]: _, ...others } = recordOf(draft.config[key])
  const next = value === undefined ? others : { ...others, [name]: value }
  set(key, Object.keys(next).length === 0 ? undefined : next)
}

/** Settings that have fields on the page; the others are shown as JSON. */
const knownSettings: ReadonlySet<string> = new Set([
  'max_turns',
  'time_limit_seconds',
  'busy_mode',
  'session_max_budget',
  'max_tokens',
  'agents',
  'custom_tool_timeout_seconds',
  'model_settings',
  'context',
  'output_schema',
  'a2a',
  'pinned_version',
  'approvals',
  'network',
  'sandbox',
  'mcp_servers',
])

/** Returns the settings that the page has no fields for. */
export const otherSettings = (config: Settings): Settings =>
  Object.fromEntries(Object.entries(config).filter(([key]) => !knownSettings.has(key)))

/** Returns the settings with others in place of those that the page has no fields for. */
export const withOtherSettings = (config: Settings, others: Settings): Settings => ({
  ...Object.fromEntries(Object.entries(config).filter(([key]) => knownSettings.has(key))),
  ...Object.fromEntries(Object.entries(others).filter(([key]) => !knownSettings.has(key) && key !== 'runtime')),
})
