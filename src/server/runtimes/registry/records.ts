import type { AgentRuntime, RuntimeHarness } from '../../../contract/runtimes.ts'
import { type Capabilities, noCapabilities, type Runtime, type RuntimeKind } from '../runtime.ts'
import { type BuiltInRuntime, factsOfSpec, ownRuntime } from './catalogue.ts'
import type { KnownRuntime } from './known-runtimes.ts'
import type { HealthRow } from './store.ts'

/** A runtime with what else a record of it says. */
export interface Shown {
  readonly known: KnownRuntime
  readonly kind: RuntimeKind | undefined
  readonly health: HealthRow | undefined
}

type State = Omit<AgentRuntime, 'name' | 'default_api_base' | `credential_provider_${'id' | 'name'}`>

/** What was said of another address or another key says nothing of this one. */
export const saidOf = (
  { version, apiBase }: Pick<KnownRuntime, 'version' | 'apiBase'>,
  health: HealthRow | undefined,
): HealthRow | undefined => (health?.version === version && health.api_base === apiBase ? health : undefined)

const stateOf = ({ known, kind, health }: Shown): State => {
  const said = saidOf(known, health)
  return {
    id: known.id,
    connected: known.endpoint !== undefined,
    api_base: known.apiBase,
    masked_api_key: known.masked,
    tools: [...factsOfSpec[known.spec].tools],
    capabilities: flags(kind?.capabilities ?? noCapabilities),
    last_checked_at: said?.checked_at.toISOString() ?? null,
    last_error: known.problem === undefined ? (said?.error ?? null) : errorOf(known),
  }
}

/** A built-in runtime that nobody has connected is not broken. */
const errorOf = ({ origin, masked, id, problem }: KnownRuntime): string | null =>
  origin === 'built-in' && masked === null ? null : `runtime ${id} ${problem}`

const flags = (capabilities: Capabilities): Record<string, boolean> => ({ ...capabilities })

/** The record of a built-in runtime. */
export const toAgentRuntime = (shown: Shown, { name, defaultBase, provider }: BuiltInRuntime): AgentRuntime => ({
  name,
  default_api_base: defaultBase,
  credential_provider_id: provider.id,
  credential_provider_name: provider.name,
  ...stateOf(shown),
})

/** The record of a runtime as a harness. */
export const toHarness = (shown: Shown): RuntimeHarness => ({
  alias: shown.known.id,
  api_spec: shown.known.spec,
  display_name: shown.known.name,
  is_default: shown.known.origin === 'built-in',
  locked: shown.known.origin !== 'api',
  ...stateOf(shown),
})

const ownState = ({ id, capabilities }: Runtime, publicUrl: string): State => ({
  id,
  connected: true,
  api_base: publicUrl,
  masked_api_key: null,
  tools: [...ownRuntime.tools],
  capabilities: flags(capabilities),
  last_checked_at: null,
  last_error: null,
})

/** The record of the service's own runtime, which is always connected. */
export const ownAgentRuntime = (runtime: Runtime, publicUrl: string): AgentRuntime => ({
  name: ownRuntime.name,
  default_api_base: publicUrl,
  credential_provider_id: ownRuntime.provider.id,
  credential_provider_name: ownRuntime.provider.name,
  ...ownState(runtime, publicUrl),
})

/** The same as a harness. */
export const ownHarness = (runtime: Runtime, publicUrl: string): RuntimeHarness => ({
  alias: runtime.id,
  api_spec: runtime.id,
  display_name: ownRuntime.name,
  is_default: true,
  locked: true,
  ...ownState(runtime, publicUrl),
})
