import { AppError } from '../platform/errors.ts'
import { type Json, recordOf } from '../platform/json.ts'
import type { Finding } from '../runtimes/runtime.ts'
import type { Vault } from '../vault/vault.ts'
import type { EgressSession } from './inner-host.ts'
import { boundSecrets, type ReadSecret } from './secrets.ts'

interface Deps {
  readonly vault: Pick<Vault, 'value'>
  readonly nowMs?: () => number
}

const cacheMs = 5_000

type Owned = Pick<EgressSession, 'owner_id' | 'reachesGlobalVault' | 'config'>

/** Whose vault entries count. */
export interface SecretOwner {
  readonly ownerId: string
  readonly mayBeGlobal: boolean
}

/** Values of `config.network.secrets`, from the vault of the owner of a session. */
export type SessionSecrets = ReturnType<typeof createSessionSecrets>

export function createSessionSecrets({ vault, nowMs = () => performance.now() }: Deps) {
  const vaultValue = (name: string, { ownerId, mayBeGlobal }: SecretOwner) =>
    vault.value({ name, ownerId: ownerId === '' ? undefined : ownerId, mayBeGlobal })

  /** Values are cached for a short time, because programs send many requests. */
  const readerFor = ({ owner_id: ownerId, reachesGlobalVault }: Omit<Owned, 'config'>): ReadSecret => {
    const cached = new Map<string, { readonly value: Promise<string | undefined>; readonly untilMs: number }>()
    const read = (name: string) => vaultValue(name, { ownerId, mayBeGlobal: reachesGlobalVault === true })
    return name => {
      const found = cached.get(name)
      if (found && found.untilMs > nowMs()) return found.value
      const value = read(name)
      cached.set(name, { value, untilMs: nowMs() + cacheMs })
      value.catch(() => cached.delete(name))
      return value
    }
  }

  return {
    readerFor,

    /** Returns the current values of a session's secrets, without those that cannot be read. */
    async valuesFor(session: Owned): Promise<string[]> {
      const names = new Set(secretsIn(session.config).map(({ vaultKey }) => vaultKey))
      if (names.size === 0) return []
      const read = readerFor(session)
      const values = await Promise.all([...names].map(name => read(name).catch(unreadable)))
      return values.flatMap(value => value?.trim() || [])
    },

    /** Returns the first secret whose vault entry does not exist. */
    async problemOf(config: Json, owner: SecretOwner): Promise<Finding | undefined> {
      for (const [at, { vaultKey }] of secretsIn(config).entries()) {
        if ((await vaultValue(vaultKey, owner))?.trim()) continue
        const whose = `owner ${owner.ownerId}${owner.mayBeGlobal ? ', and not a global one' : ''}`
        const problem = `${vaultKey} is not a vault entry of ${whose}; store it with POST /api/vault`
        return { field: `config.network.secrets[${at}].vault_key`, problem }
      }
      return undefined
    },
  }
}

/** A value that cannot be decrypted is not sent either. */
const unreadable = (error: unknown): undefined => {
  if (!(error instanceof AppError)) throw error
}

const secretsIn = (config: Json) => boundSecrets(recordOf(config['network']))
