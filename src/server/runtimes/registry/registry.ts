import type { AgentRuntime, ApiSpec, RuntimeHarness } from '../../../contract/runtimes.ts'
import { runtimeSpecs } from '../../config/runtime-specs.ts'
import type { NetworkCheck, Workplace } from '../../egress/check-network.ts'
import type { WholeEchoes } from '../../platform/echoes.ts'
import type { Json } from '../../platform/json.ts'
import type { SandboxCheck } from '../../sandboxes/check-sandbox.ts'
import {
  failed,
  noCapabilities,
  type Runtime,
  type RuntimeInfo,
  type RuntimeKind,
  type RuntimeRegistry,
} from '../runtime.ts'
import { builtInRuntimes, ownRuntime } from './catalogue.ts'
import type { ExternalRuntime, ExternalRuntimes } from './external-runtimes.ts'
import { findingsFor } from './findings.ts'
import { ownAgentRuntime, ownHarness, type Shown, toAgentRuntime, toHarness } from './records.ts'
import { createRuntimeCache } from './runtime-cache.ts'
import type { RuntimeStore } from './store.ts'

interface Deps {
  /** The service's own runtime. */
  readonly builtin: Runtime
  /** Public address of the service, returned as that of its own runtime. */
  readonly publicUrl: () => string
  readonly kinds: ReadonlyMap<ApiSpec, RuntimeKind>
  readonly externals: ExternalRuntimes
  readonly store: Pick<RuntimeStore, 'health'>
  /** Credentials of the models, which are redacted from the output of runtimes. */
  readonly modelSecrets: () => WholeEchoes
  /** True while the tool `web_search` exists. */
  readonly canSearch: () => boolean
  /** True when the sandboxes of this server can clone repositories. */
  readonly canClone: boolean
  /** Returns a problem of `config.network`. */
  readonly networkCheck: NetworkCheck
  /** Returns a problem of `config.sandbox`. */
  readonly sandboxCheck: SandboxCheck
}

/** Registry of the server's runtimes. A change takes effect with the next call on every replica. */
export interface Registry extends RuntimeRegistry {
  /** Lists the built-in runtimes with the state of their credentials. */
  agentRuntimes(): Promise<AgentRuntime[]>
  /** Lists all runtimes, built-in ones first. */
  harnesses(): Promise<RuntimeHarness[]>
  /** Reports whether the runtime connects to MCP servers by itself, not through this service. */
  callsMcpServers(name: string): Promise<boolean>
  /** Frees the resources of the runtimes, such as processes. No run may be in progress. */
  close(): Promise<void>
}

export function createRegistry(deps: Deps): Registry {
  const { builtin, publicUrl, kinds, externals, store, modelSecrets, canSearch, canClone } = deps
  const ownFacts = () => ({ publicUrl: publicUrl(), canSearch: canSearch() })
  const cache = createRuntimeCache({ models: modelSecrets })

  const problemIn = (config: Json, workplace: Workplace) =>
    deps.networkCheck(config, workplace) ?? deps.sandboxCheck(config, workplace)

  const runtimeOf = (found: ExternalRuntime): Runtime => {
    const kind = kinds.get(found.spec)
    if (kind && found.endpoint) return cache.get(kind, found.endpoint)
    cache.drop(found.id)
    return unavailable(found, kind)
  }

  async function shown(): Promise<Shown[]> {
    const [all, health] = await Promise.all([externals.all(), store.health()])
    return all.map(one => ({ runtime: one, kind: kinds.get(one.spec), health: health.find(({ id }) => id === one.id) }))
  }

  const info = ({ id, name, spec, endpoint }: ExternalRuntime): RuntimeInfo => ({
    id,
    name,
    connected: endpoint !== undefined,
    capabilities: kinds.get(spec)?.capabilities ?? noCapabilities,
  })

  return {
    async find(name) {
      if (name === builtin.id) return builtin
      const found = await externals.find(name)
      if (found) return runtimeOf(found)
      cache.drop(name)
      return undefined
    },

    async unavailableReason(name) {
      if (name === builtin.id) return undefined
      const found = await externals.find(name)
      return found ? found.problem : 'is unknown; GET /api/capabilities lists the runtimes'
    },

    async findings(name, requested) {
      const external = name === builtin.id ? undefined : await externals.find(name)
      const spec = name === builtin.id ? 'builtin' : external?.spec
      if (spec === undefined) return []
      return findingsFor(spec, requested, {
        canSearch: canSearch(),
        canClone,
        isRemote: (external?.endpoint?.apiBase ?? '') !== '',
        sandboxProblem: config => problemIn(config, workplaceOf(external)),
      })
    },

    async list() {
      const { id, capabilities } = builtin
      return [{ id, name: ownRuntime.name, connected: true, capabilities }, ...(await externals.all()).map(info)]
    },

    async agentRuntimes() {
      const records = (await shown()).flatMap(one => {
        const facts = builtInRuntimes.get(one.runtime.id)
        return facts ? [toAgentRuntime(one, facts)] : []
      })
      return [ownAgentRuntime(builtin, ownFacts()), ...records]
    },

    harnesses: async () => [ownHarness(builtin, ownFacts()), ...(await shown()).map(toHarness)],

    async callsMcpServers(name) {
      const found = name === builtin.id ? undefined : await externals.find(name)
      return found !== undefined && runtimeSpecs[found.spec].mcpServers === 'urls'
    },

    close: () => cache.close(),
  }
}

/** Returns where a runtime works; undefined stands for the service's own. */
function workplaceOf(external: ExternalRuntime | undefined): Workplace {
  // A runtime that cannot be used reports that itself.
  if (!external?.endpoint) return 'sandbox'
  const { command, isolation = 'sandbox' } = external.endpoint
  if (command === undefined) return 'elsewhere'
  return isolation === 'sandbox' ? 'sandbox' : 'server'
}

/** Returns a placeholder for a runtime that cannot be used: its runs fail with the reason. */
const unavailable = ({ id, problem }: ExternalRuntime, kind: RuntimeKind | undefined): Runtime => ({
  id,
  capabilities: kind?.capabilities ?? noCapabilities,
  dispose: async () => undefined,
  async *run() {
    yield [failed('model_request_failed_error', `runtime ${id} ${problem}`)]
  },
})
