import type { ConfiguredHarness } from '../../config/config.ts'
import { masked } from '../../platform/mask.ts'
import { refusalFor } from '../../platform/outbound.ts'
import type { ApiSpec, RuntimeEndpoint } from '../runtime.ts'
import type { Guard } from './address.ts'
import { type BuiltInRuntime, builtInRuntimes, factsOfSpec } from './catalogue.ts'
import type { OpenedKey, RuntimeSeals } from './seals.ts'
import type { CredentialRow, HarnessRow, RuntimeStore } from './store.ts'

/** A foreign runtime as it stands now. */
export interface KnownRuntime {
  readonly id: string
  readonly spec: ApiSpec
  readonly origin: 'built-in' | 'file' | 'api'
  readonly name: string
  readonly apiBase: string
  readonly masked: string | null
  /** Of its row; 0 without one. */
  readonly version: number
  /** Undefined while it cannot be used. */
  readonly endpoint: RuntimeEndpoint | undefined
  /** Why it cannot be used, as a sentence goes on after its name. */
  readonly problem: string | undefined
}

interface Deps {
  readonly store: Pick<RuntimeStore, 'credential' | 'credentials' | 'harness' | 'harnesses'>
  readonly seals: RuntimeSeals
  /** The protocols that this server speaks. */
  readonly speaks: (spec: ApiSpec) => boolean
  /** The harnesses of the configuration file as it is now. */
  readonly configured: () => readonly ConfiguredHarness[]
  readonly guard: () => Guard
}

/** Foreign runtimes, put together from the catalogue, the configuration file and the database; each call looks anew. */
export type KnownRuntimes = ReturnType<typeof createKnownRuntimes>

export function createKnownRuntimes({ store, seals, speaks, configured, guard }: Deps) {
  const judged = (given: Given): KnownRuntime => {
    const { key, command, env, isolation, ...runtime } = given
    const problem = problemOf(given, { speaks, guard: guard() })
    const { id, apiBase } = runtime
    const started = command && { command, env: env ?? {}, ...(isolation && { isolation }) }
    const endpoint = problem === undefined ? { id, apiBase, apiKey: key.apiKey, ...started } : undefined
    return { ...runtime, endpoint, problem }
  }

  const builtIn = ({ id, spec, name, defaultBase }: BuiltInRuntime, row: CredentialRow | undefined): KnownRuntime =>
    judged({
      id,
      spec,
      origin: 'built-in',
      name,
      apiBase: row?.api_base ?? defaultBase,
      masked: row?.masked ?? null,
      version: row?.version ?? 0,
      key: row ? seals.openCredential(row) : noKey,
    })

  const stored = (row: HarnessRow): KnownRuntime =>
    judged({
      id: row.alias,
      spec: row.api_spec,
      origin: 'api',
      name: row.display_name,
      apiBase: row.api_base,
      masked: row.masked,
      version: row.version,
      key: seals.openHarness(row),
    })

  const ofFile = (harness: ConfiguredHarness): KnownRuntime => judged(givenBy(harness))

  return {
    async find(id: string): Promise<KnownRuntime | undefined> {
      const known = builtInRuntimes.get(id)
      if (known) return builtIn(known, await store.credential(id))
      const harness = configured().find(({ alias }) => alias === id)
      if (harness) return ofFile(harness)
      const row = await store.harness(id)
      return row && stored(row)
    },

    /** Built-in ones first, then those of the file, then registered ones by their alias. */
    async all(): Promise<KnownRuntime[]> {
      const [credentials, rows] = await Promise.all([store.credentials(), store.harnesses()])
      const listed = configured()
      const taken = new Set(listed.map(({ alias }) => alias))
      return [
        ...[...builtInRuntimes.values()].map(runtime =>
          builtIn(
            runtime,
            credentials.find(row => row.id === runtime.id),
          ),
        ),
        ...listed.map(ofFile),
        // The file wins: what was registered under a name that it took up later waits.
        ...rows.filter(({ alias }) => !taken.has(alias)).map(stored),
      ]
    },
  }
}

const noKey: OpenedKey = { apiKey: undefined, problem: undefined }

interface Given extends Omit<KnownRuntime, 'endpoint' | 'problem'> {
  readonly key: OpenedKey
  readonly command?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly isolation?: 'none'
}

const givenBy = ({ alias, apiSpec, displayName, apiBase, apiKey, ...program }: ConfiguredHarness): Given => ({
  id: alias,
  spec: apiSpec,
  origin: 'file',
  name: displayName,
  apiBase,
  masked: apiKey === undefined ? null : masked(apiKey),
  version: 0,
  key: { apiKey, problem: undefined },
  ...(program.command && { ...program, command: program.command }),
})

interface Surroundings {
  readonly speaks: (spec: ApiSpec) => boolean
  readonly guard: Guard
}

function problemOf({ id, spec, origin, apiBase, key }: Given, { speaks, guard }: Surroundings): string | undefined {
  if (!speaks(spec)) return `cannot be used: this server does not speak ${spec}`
  if (key.problem !== undefined) return `cannot be used: ${key.problem}`
  if (key.apiKey === undefined && factsOfSpec[spec].needsKey) return lackOf[origin](id)
  const refusal = apiBase === '' ? undefined : refusalFor(apiBase, guard)
  return refusal === undefined ? undefined : `cannot be called: ${refusal}`
}

const lackOf: Readonly<Record<KnownRuntime['origin'], (id: string) => string>> = {
  'built-in': id => `is not connected; store its credential with PUT /api/agent-runtimes/${id}/credentials`,
  file: () => 'has no key; add api_key to its entry in the configuration file',
  api: id => `has no key; store one with PUT /api/runtime-harnesses/${id}`,
}
