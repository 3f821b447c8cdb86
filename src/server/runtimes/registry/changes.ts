import type { ApiSpec, CredentialWrite, HarnessCreate, HarnessUpdate } from '../../../contract/runtimes.ts'
import type { Audit } from '../../audit/audit.ts'
import type { ConfiguredHarness } from '../../config/agent-settings.ts'
import { isUnsendable } from '../../config/providers.ts'
import { isBuiltInRuntime, runtimeSpecs } from '../../config/runtime-specs.ts'
import type { RunSql } from '../../db/once.ts'
import type { By } from '../../http/caller.ts'
import { rejectNarrow } from '../../http/reach.ts'
import { AppError, invalid, notFound } from '../../platform/errors.ts'
import { checkedAddress, type Guard } from './address.ts'
import { builtInRuntimes } from './catalogue.ts'
import type { RuntimeKeyEncryption } from './key-encryption.ts'
import type { CredentialRow, HarnessRow, RuntimeStore } from './store.ts'

interface Deps {
  readonly store: RuntimeStore
  readonly encryption: RuntimeKeyEncryption
  readonly configured: () => readonly ConfiguredHarness[]
  readonly guard: () => Guard
  readonly audit: Audit
}

/** Validates and applies changes of runtime credentials and harnesses. */
export type RuntimeChanges = ReturnType<typeof createRuntimeChanges>

export function createRuntimeChanges({ store, encryption, configured, guard, audit }: Deps) {
  const record = (sql: RunSql, by: By, entry: Omit<Parameters<Audit['record']>[1], 'actor'>) =>
    audit.record(sql, { actor: by.actor, ...entry })

  /** Throws for a harness that the API cannot change. */
  const rejectLocked = (alias: string): void => {
    if (isBuiltInRuntime(alias))
      throw invalid(
        `runtime ${alias} is built in; set its credential with PUT /api/agent-runtimes/${alias}/credentials`,
      )
    if (configured().some(harness => harness.alias === alias))
      throw new AppError('conflict', `runtime ${alias} comes from the configuration file; change it there`)
  }

  /** Runs before the permission check: a caller without permission also gets 404 for an unknown harness. */
  async function mustExist(alias: string): Promise<void> {
    rejectLocked(alias)
    if (!(await store.harness(alias))) throw notFound('runtime', alias)
  }

  return {
    /** Replaces a credential. The address stays unless `api_base` is given. */
    async connect(id: string, { api_key, api_base }: CredentialWrite, by: By): Promise<void> {
      const runtime = builtInOf(id)
      rejectNarrow(by)
      let apiBase = ''
      const apiKey = checkedKey(api_key)
      await store.putCredential(
        id,
        before => {
          apiBase = checkedAddress(api_base ?? before?.api_base ?? runtime.defaultBase, guard())
          return encryption.credentialRow({ id, apiBase, apiKey }, before?.version)
        },
        (sql, before) =>
          record(sql, by, {
            action: 'runtime.connect',
            objectId: id,
            before: before && publicCredential(before),
            after: { api_base: apiBase },
          }),
      )
    },

    async disconnect(id: string, by: By): Promise<void> {
      builtInOf(id)
      rejectNarrow(by)
      const isRemoved = await store.removeCredential(id, (sql, before) =>
        record(sql, by, { action: 'runtime.disconnect', objectId: id, before: before && publicCredential(before) }),
      )
      if (!isRemoved) throw new AppError('not_found', `runtime ${id} has no stored credential`)
    },

    async create({ alias, api_spec, api_base, api_key, display_name }: HarnessCreate, by: By): Promise<void> {
      rejectNarrow(by)
      rejectLocked(alias)
      rejectProgramSpec(api_spec)
      const apiKey = api_key === undefined ? undefined : checkedKey(api_key)
      const columns = encryption.harnessColumns(
        { id: alias, apiBase: checkedAddress(api_base, guard()), apiKey },
        undefined,
      )
      const named = { alias, api_spec, display_name: display_name ?? alias, created_by: by.caller.principal }
      const after = publicHarness({ ...named, ...columns })
      const isAdded = await store.insertHarness({ ...named, ...columns }, sql =>
        record(sql, by, { action: 'runtime_harness.create', objectId: alias, after }),
      )
      if (!isAdded) throw new AppError('conflict', `runtime ${alias} exists already`)
    },

    /** Keeps absent fields. A new address without a new key removes the stored key. Security: S25. */
    async update(alias: string, write: HarnessUpdate, by: By): Promise<void> {
      await mustExist(alias)
      rejectNarrow(by)
      let after: object = {}
      const make = (before: HarnessRow) => {
        const changed = changedHarness(before, write, { encryption, guard: guard() })
        after = publicHarness(changed)
        return changed
      }
      const isChanged = await store.updateHarness(alias, make, (sql, before) =>
        record(sql, by, {
          action: 'runtime_harness.update',
          objectId: alias,
          before: before && publicHarness(before),
          after,
        }),
      )
      if (!isChanged) throw notFound('runtime', alias)
    },

    async remove(alias: string, by: By): Promise<void> {
      await mustExist(alias)
      rejectNarrow(by)
      const isRemoved = await store.removeHarness(alias, (sql, before) =>
        record(sql, by, { action: 'runtime_harness.delete', objectId: alias, before: before && publicHarness(before) }),
      )
      if (!isRemoved) throw notFound('runtime', alias)
    },
  }
}

function builtInOf(id: string) {
  const runtime = builtInRuntimes.get(id)
  if (runtime) return runtime
  if (isBuiltInRuntime(id))
    throw invalid(`runtime ${id} takes no credential: it calls models with the credentials of their providers`)
  throw notFound('runtime', id)
}

function changedHarness(
  before: HarnessRow,
  { api_spec = before.api_spec, api_base, api_key, display_name = before.display_name }: HarnessUpdate,
  { encryption, guard }: { readonly encryption: RuntimeKeyEncryption; readonly guard: Guard },
) {
  rejectProgramSpec(api_spec)
  const apiBase = api_base === undefined ? before.api_base : checkedAddress(api_base, guard)
  const { alias, version } = before
  const isKept = api_key === undefined && apiBase === before.api_base
  const columns = isKept
    ? { api_base: apiBase, version, masked: before.masked, sealed: before.sealed, key_id: before.key_id }
    : encryption.harnessColumns({ id: alias, apiBase, apiKey: api_key ? checkedKey(api_key) : undefined }, version)
  return { api_spec, display_name, ...columns }
}

/** Only the operator may configure a program to start, never an API call. Security: S30. */
function rejectProgramSpec(spec: ApiSpec): void {
  if (runtimeSpecs[spec].target === 'program')
    throw invalid(
      `api_spec ${spec} starts a program: it is allowed only in runtime_harnesses of the configuration file`,
    )
}

function checkedKey(key: string): string {
  if (isUnsendable(key)) throw invalid('api_key contains a character that is not allowed in an HTTP header')
  return key
}

const publicCredential = ({ api_base }: CredentialRow) => ({ api_base })

const publicHarness = (row: Pick<HarnessRow, 'api_spec' | 'display_name' | 'api_base' | 'masked'>) => ({
  api_spec: row.api_spec,
  display_name: row.display_name,
  api_base: row.api_base,
  has_key: row.masked !== null,
})
