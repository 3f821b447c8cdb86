import type { ApiSpec } from '../../../contract/runtimes.ts'
import type { ConfiguredHarness } from '../../config/agent-settings.ts'
import { runtimeSpecs } from '../../config/runtime-specs.ts'
import { masked } from '../../platform/mask.ts'
import { blockedReasonFor } from '../../platform/outbound.ts'
import type { RuntimeEndpoint } from '../runtime.ts'
import type { Guard } from './address.ts'
import { type BuiltInRuntime, builtInRuntimes } from './catalogue.ts'
import type { DecryptedKey, RuntimeKeyEncryption } from './key-encryption.ts'
import type { CredentialRow, HarnessRow, RuntimeStore } from './store.ts'

/** An external runtime in its current state. */
export interface ExternalRuntime {
  readonly id: string
  readonly spec: ApiSpec
  readonly origin: 'built-in' | 'file' | 'api'
  readonly name: string
  readonly apiBase: string
  readonly masked: string | null
  /** Version of its row; 0 without one. */
  readonly version: number
  /** Undefined while the runtime cannot be used. */
  readonly endpoint: RuntimeEndpoint | undefined
  /** Why it cannot be used, worded to follow its name. */
  readonly problem: string | undefined
}

interface Deps {
  readonly store: Pick<RuntimeStore, 'credential' | 'credentials' | 'harness' | 'harnesses'>
  readonly encryption: RuntimeKeyEncryption
  /** Reports whether this server implements a protocol. */
  readonly supports: (spec: ApiSpec) => boolean
  /** The harnesses of the current configuration file. */
  readonly configured: () => readonly ConfiguredHarness[]
  readonly guard: () => Guard
}

/** External runtimes from the catalogue, the configuration file and the database; each call reads them again. */
export type ExternalRuntimes = ReturnType<typeof createExternalRuntimes>

export function createExternalRuntimes({ store, encryption, supports, configured, guard }: Deps) {
  const checked = (given: Given): ExternalRuntime => {
    const { key, command, env, isolation, ...runtime } = given
    const problem = problemOf(given, supports, guard())
    const { id, apiBase } = runtime
    const started = command && { command, env: env ?? {}, ...(isolation && { isolation }) }
    const endpoint = problem === undefined ? { id, apiBase, apiKey: key.apiKey, ...started } : undefined
    return { ...runtime, endpoint, problem }
  }

  const builtIn = ({ id, spec, name, defaultBase }: BuiltInRuntime, row: CredentialRow | undefined): ExternalRuntime =>
    checked({
      id,
      spec,
      origin: 'built-in',
      name,
      apiBase: row?.api_base ?? defaultBase,
      masked: row?.masked ?? null,
      version: row?.version ?? 0,
      key: row ? encryption.decryptCredential(row) : noKey,
    })

  const stored = (row: HarnessRow): ExternalRuntime =>
    checked({
      id: row.alias,
      spec: row.api_spec,
      origin: 'api',
      name: row.display_name,
      apiBase: row.api_base,
      masked: row.masked,
      version: row.version,
      key: encryption.decryptHarness(row),
    })

  const ofFile = (harness: ConfiguredHarness): ExternalRuntime => checked(givenBy(harness))

  return {
    async find(id: string): Promise<ExternalRuntime | undefined> {
      const builtInRuntime = builtInRuntimes.get(id)
      if (builtInRuntime) return builtIn(builtInRuntime, await store.credential(id))
      const harness = configured().find(({ alias }) => alias === id)
      if (harness) return ofFile(harness)
      const row = await store.harness(id)
      return row && stored(row)
    },

    /** Lists built-in runtimes, then those of the file, then registered ones by alias. */
    async all(): Promise<ExternalRuntime[]> {
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
        // The file takes precedence over a registered harness of the same name.
        ...rows.filter(({ alias }) => !taken.has(alias)).map(stored),
      ]
    },
  }
}

const noKey: DecryptedKey = { apiKey: undefined, problem: undefined }

interface Given extends Omit<ExternalRuntime, 'endpoint' | 'problem'> {
  readonly key: DecryptedKey
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

function problemOf(
  { id, spec, origin, apiBase, key }: Given,
  supports: (spec: ApiSpec) => boolean,
  guard: Guard,
): string | undefined {
  if (!supports(spec)) return `cannot be used: this server does not support ${spec}`
  if (key.problem !== undefined) return `cannot be used: ${key.problem}`
  if (key.apiKey === undefined && runtimeSpecs[spec].needsKey) return missingKey[origin](id)
  const problem = apiBase === '' ? undefined : blockedReasonFor(apiBase, guard)
  return problem === undefined ? undefined : `cannot be called: ${problem}`
}

const missingKey: Readonly<Record<ExternalRuntime['origin'], (id: string) => string>> = {
  'built-in': id => `is not connected; store its credential with PUT /api/agent-runtimes/${id}/credentials`,
  file: () => 'has no key; add api_key to its entry in the configuration file',
  api: id => `has no key; store one with PUT /api/runtime-harnesses/${id}`,
}
