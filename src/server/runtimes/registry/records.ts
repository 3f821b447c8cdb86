import type { AgentRuntime, RuntimeHarness } from '../../../contract/runtimes.ts'
import { runtimeSpecs } from '../../config/runtime-specs.ts'
import { type Capabilities, noCapabilities, type Runtime, type RuntimeKind } from '../runtime.ts'
import { type BuiltInRuntime, ownRuntime } from './catalogue.ts'
import type { ExternalRuntime } from './external-runtimes.ts'
import type { HealthRow } from './store.ts'

/** A runtime with the other contents of its record. */
export interface Shown {
  readonly runtime: ExternalRuntime
  readonly kind: RuntimeKind | undefined
  readonly health: HealthRow | undefined
}

type State = Omit<AgentRuntime, 'name' | 'default_api_base' | `credential_provider_${'id' | 'name'}`>

/** Returns the health if it was measured with the current address and key. */
export const currentHealth = (
  { version, apiBase }: Pick<ExternalRuntime, 'version' | 'apiBase'>,
  health: HealthRow | undefined,
): HealthRow | undefined => (health?.version === version && health.api_base === apiBase ? health : undefined)

const stateOf = ({ runtime, kind, health }: Shown): State => {
  const current = currentHealth(runtime, health)
  return {
    id: runtime.id,
    connected: runtime.endpoint !== undefined,
    api_base: runtime.apiBase,
    masked_api_key: runtime.masked,
    tools: [...runtimeSpecs[runtime.spec].listedTools],
    capabilities: flags(kind?.capabilities ?? noCapabilities),
    last_checked_at: current?.checked_at.toISOString() ?? null,
    last_error: runtime.problem === undefined ? (current?.error ?? null) : errorOf(runtime),
  }
}

/** A built-in runtime that is not connected has no error. */
const errorOf = ({ origin, masked, id, problem }: ExternalRuntime): string | null =>
  origin === 'built-in' && masked === null ? null : `runtime ${id} ${problem}`

const flags = (capabilities: Capabilities): Record<string, boolean> => ({ ...capabilities })

/** Returns the record of a built-in runtime. */
export const toAgentRuntime = (shown: Shown, { name, defaultBase, provider }: BuiltInRuntime): AgentRuntime => ({
  name,
  default_api_base: defaultBase,
  credential_provider_id: provider.id,
  credential_provider_name: provider.name,
  ...stateOf(shown),
})

/** Returns the record of a runtime as a harness. */
export const toHarness = (shown: Shown): RuntimeHarness => ({
  alias: shown.runtime.id,
  api_spec: shown.runtime.spec,
  display_name: shown.runtime.name,
  is_default: shown.runtime.origin === 'built-in',
  locked: shown.runtime.origin !== 'api',
  ...stateOf(shown),
})

/** What the record of the service's own runtime depends on. */
export interface OwnFacts {
  readonly publicUrl: string
  /** True while the tool `web_search` exists. */
  readonly canSearch: boolean
}

const ownState = ({ id, capabilities }: Runtime, { publicUrl, canSearch }: OwnFacts): State => ({
  id,
  connected: true,
  api_base: publicUrl,
  masked_api_key: null,
  tools: ownRuntime.tools({ canSearch }),
  capabilities: flags(capabilities),
  last_checked_at: null,
  last_error: null,
})

/** Returns the record of the service's own runtime, which is always connected. */
export const ownAgentRuntime = (runtime: Runtime, facts: OwnFacts): AgentRuntime => ({
  name: ownRuntime.name,
  default_api_base: facts.publicUrl,
  credential_provider_id: ownRuntime.provider.id,
  credential_provider_name: ownRuntime.provider.name,
  ...ownState(runtime, facts),
})

/** Returns the record of the service's own runtime as a harness. */
export const ownHarness = (runtime: Runtime, facts: OwnFacts): RuntimeHarness => ({
  alias: runtime.id,
  api_spec: runtime.id,
  display_name: ownRuntime.name,
  is_default: true,
  locked: true,
  ...ownState(runtime, facts),
})
