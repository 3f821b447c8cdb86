import type { AgentRuntime, RuntimeHarness } from '../../../contract/runtimes.ts'
import type { WholeEchoes } from '../../platform/echoes.ts'
import {
  type ApiSpec,
  failed,
  noCapabilities,
  type Runtime,
  type RuntimeInfo,
  type RuntimeKind,
  type RuntimeRegistry,
} from '../runtime.ts'
import { builtInRuntimes, ownRuntime } from './catalogue.ts'
import { findingsFor } from './findings.ts'
import { createKeptRuntimes } from './kept-runtimes.ts'
import type { KnownRuntime, KnownRuntimes } from './known-runtimes.ts'
import { ownAgentRuntime, ownHarness, type Shown, toAgentRuntime, toHarness } from './records.ts'
import type { RuntimeStore } from './store.ts'

interface Deps {
  /** The runtime of the service itself. */
  readonly builtin: Runtime
  /** The address of the service, which is that of its own runtime. */
  readonly publicUrl: () => string
  readonly kinds: ReadonlyMap<ApiSpec, RuntimeKind>
  readonly known: KnownRuntimes
  readonly store: Pick<RuntimeStore, 'health'>
  /** Takes the credentials of the models out of what runtimes say. */
  readonly modelSecrets: () => WholeEchoes
}

/** The runtimes of this server as everybody sees them. A change is in force with the next call, on every replica. */
export interface Registry extends RuntimeRegistry {
  /** The built-in ones, with what is known of their credentials. */
  agentRuntimes(): Promise<AgentRuntime[]>
  /** All of them, built-in ones first. */
  harnesses(): Promise<RuntimeHarness[]>
  /** Ends what the runtimes hold, such as processes. No run may be at work. */
  close(): Promise<void>
}

export function createRegistry({ builtin, publicUrl, kinds, known, store, modelSecrets }: Deps): Registry {
  const kept = createKeptRuntimes({ models: modelSecrets })

  const runtimeOf = (found: KnownRuntime): Runtime => {
    const kind = kinds.get(found.spec)
    if (kind && found.endpoint) return kept.get(kind, found.endpoint)
    kept.drop(found.id)
    return refusing(found, kind)
  }

  async function shown(): Promise<Shown[]> {
    const [all, health] = await Promise.all([known.all(), store.health()])
    return all.map(one => ({ known: one, kind: kinds.get(one.spec), health: health.find(({ id }) => id === one.id) }))
  }

  const info = ({ id, name, spec, endpoint }: KnownRuntime): RuntimeInfo => ({
    id,
    name,
    connected: endpoint !== undefined,
    capabilities: kinds.get(spec)?.capabilities ?? noCapabilities,
  })

  return {
    async find(name) {
      if (name === builtin.id) return builtin
      const found = await known.find(name)
      if (found) return runtimeOf(found)
      kept.drop(name)
      return undefined
    },

    async refusal(name) {
      if (name === builtin.id) return undefined
      const found = await known.find(name)
      return found ? found.problem : 'is not known; see GET /api/capabilities for those that are'
    },

    async findings(name, wishes) {
      const spec = name === builtin.id ? 'builtin' : (await known.find(name))?.spec
      return spec === undefined ? [] : findingsFor(spec, wishes)
    },

    async list() {
      const { id, capabilities } = builtin
      return [{ id, name: ownRuntime.name, connected: true, capabilities }, ...(await known.all()).map(info)]
    },

    async agentRuntimes() {
      const records = (await shown()).flatMap(one => {
        const facts = builtInRuntimes.get(one.known.id)
        return facts ? [toAgentRuntime(one, facts)] : []
      })
      return [ownAgentRuntime(builtin, publicUrl()), ...records]
    },

    harnesses: async () => [ownHarness(builtin, publicUrl()), ...(await shown()).map(toHarness)],

    close: () => kept.close(),
  }
}

/** Stands in for a runtime that cannot be used now: its runs fail with the reason, and it keeps nothing to dispose of. */
const refusing = ({ id, problem }: KnownRuntime, kind: RuntimeKind | undefined): Runtime => ({
  id,
  capabilities: kind?.capabilities ?? noCapabilities,
  dispose: async () => undefined,
  async *run() {
    yield [failed('model_request_failed_error', `runtime ${id} ${problem}`)]
  },
})
