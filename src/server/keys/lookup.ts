import { createSecretKey, hash } from 'node:crypto'
import type { Notifications } from '../db/notifications.ts'
import type { Caller, KeyAccess } from '../http/caller.ts'
import { cacheTtlMs } from '../platform/durations.ts'
import { gathered } from '../platform/gather.ts'
import type { Log } from '../platform/log.ts'
import { type CachedLookup, KeyCache } from './cache.ts'
import { hashOf, isKey } from './format.ts'
import type { KeyGrant } from './grant-store.ts'
import { hashOfForeign, type ImportedKeys, mayBeImported } from './imported.ts'
import { keyChannel } from './key-channel.ts'
import { createLastUsed } from './last-used.ts'
import { modelsWithin } from './models-within.ts'
import { createOpenWork, type OpenWork } from './open-work.ts'
import type { KeyStore } from './store.ts'

/** Caller with a virtual key. */
export interface KeyHolder extends Caller {
  readonly key: KeyAccess
}

type Found = KeyHolder | undefined

/** Lookup of keys. Rejects with `unavailable` if the database is unreachable and the key is not cached. */
export interface KeyLookup extends Pick<OpenWork, 'watch'> {
  /** Returns the caller of a presented key, synchronously if cached; undefined if the key is not valid. */
  find(presented: string): Found | Promise<Found>
  /** Returns the caller of a key id, for reads on its behalf; undefined if it was revoked or has expired. */
  byId(keyId: string): Found | Promise<Found>
  /** Like `byId`, for work that the key has queued: also undefined if the key may only read. */
  workerById(keyId: string): Found | Promise<Found>
  /** Drops a key from the cache. */
  forget(keyId: string): void
  stop(): Promise<void>
}

interface Options {
  readonly store: Pick<KeyStore, 'grantsOfHashes' | 'grantOfId' | 'valid' | 'markUsed'>
  /** HMAC key of the key hashes. */
  readonly pepper: Buffer
  /** Absent: keys of other gateways are not looked up. */
  readonly imported?: ImportedKeys
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  readonly log: Pick<Log, 'debug'>
  /** Monotonic. */
  readonly nowMs: () => number
}

/**
 * Pause between two batches of lookups, which bounds the queries under a flood of keys. Only the first call with a key
 * can meet it: a key in use is cached, and refreshed before it expires.
 */
const batchPauseMs = 25

/**
 * Creates the lookup, which caches keys for 5 s and listens for changes. Must be called before the notifications start.
 */
export function createKeyLookup({ store, pepper, imported, notifications, log, nowMs }: Options): KeyLookup {
  // Imported once: a Buffer would be imported again for each hash.
  const pepperKey = createSecretKey(pepper)
  const cache = new KeyCache<KeyHolder>({ nowMs })
  const lastUsed = createLastUsed({ write: store.markUsed, log })
  // Batches, so that a flood of wrong keys does not keep the database from serving valid ones.
  const grantOfHash = gathered(store.grantsOfHashes, { pauseMs: batchPauseMs })
  const openWork = createOpenWork({ store, log })

  notifications.on(keyChannel, keyId => {
    cache.drop(keyId)
    void openWork.check([keyId])
    void imported?.refresh()
  })
  notifications.onReconnect(() => {
    cache.clear()
    void openWork.check()
    void imported?.refresh()
  })

  const touch = (found: Found): Found => {
    if (found) lastUsed.touch(found.key.id)
    return found
  }
  const lookUp = (name: string, load: () => Promise<KeyGrant | undefined>): Found | Promise<Found> => {
    const found = cache.get(name, async () => toCached(await load()))
    return found instanceof Promise ? found.then(touch) : touch(found)
  }

  const byId = (keyId: string) => lookUp(keyId, () => store.grantOfId(keyId))

  return {
    find(presented) {
      const isOwn = isKey(presented)
      if (!isOwn && !(mayBeImported(presented) && imported?.exist())) return undefined
      const hashIn = isOwn ? hashOf : hashOfForeign
      // The whole digest, so that keys with a common prefix are never confused.
      return lookUp(hash('sha256', presented, 'base64'), () => grantOfHash(hashIn(presented, pepperKey)))
    },
    byId,
    workerById(keyId) {
      const found = byId(keyId)
      return found instanceof Promise ? found.then(worker) : worker(found)
    },
    forget: keyId => cache.drop(keyId),
    watch: openWork.watch,
    async stop() {
      await openWork.stop()
      await lastUsed.stop()
    },
  }
}

const worker = (found: Found): Found => (found?.role === 'viewer' ? undefined : found)

const toCached = (grant: KeyGrant | undefined): CachedLookup<KeyHolder> => ({
  value: grant && holderOf(grant),
  keyId: grant?.id,
  ttlMs: grant?.rest_ms ?? null,
})

/** Returns the caller of a grant. Its principal is the owner of the key, else of its user, else the key id. Gaps: section 3. */
const holderOf = ({
  id,
  owner_id,
  role,
  models,
  passthrough,
  cache,
  log_bodies,
  mcp_servers,
  mcp_tools,
  ...grant
}: KeyGrant): KeyHolder => ({
  principal: owner_id ?? grant.user_owner_id ?? id,
  role,
  ownerScope: owner_id ?? undefined,
  key: {
    id,
    models: modelsWithin(models, grant.team_models ?? []),
    ...(grant.user_id && { userId: grant.user_id }),
    ...(grant.is_sign_in && { isSignIn: true }),
    ...(grant.ancestors.length > 0 && { ancestors: grant.ancestors }),
    ...(passthrough.length > 0 && { passthrough }),
    ...(mcp_servers && { mcpServers: mcp_servers }),
    ...(mcp_tools && { mcpTools: mcp_tools }),
    ...(cache && { cacheTtlMs: cacheTtlMs(cache.ttl) ?? 0 }),
    ...(log_bodies && { logBodiesUntilMs: Date.parse(log_bodies.until) }),
    isLimited: grant.is_limited,
    isNarrow: grant.is_narrow,
    expires: grant.expires,
  },
})
