import { createSecretKey, hash } from 'node:crypto'
import type { Notifications } from '../db/notifications.ts'
import type { Caller, KeyAccess } from '../http/caller.ts'
import { cacheTtlMs } from '../platform/durations.ts'
import { gathered } from '../platform/gather.ts'
import type { Log } from '../platform/log.ts'
import { KeyCache, type Remembered } from './cache.ts'
import { hashOf, isKey } from './format.ts'
import { createLastUsed } from './last-used.ts'
import { createOpenWork, type OpenWork } from './open-work.ts'
import { type KeyGrant, type KeyStore, keyChannel } from './store.ts'

/** The caller that holds a virtual key. */
export interface KeyHolder extends Caller {
  readonly key: KeyAccess
}

type Found = KeyHolder | undefined

/** Finds out what keys open. Both look-ups reject with `unavailable` when the database is away and nothing is remembered. */
export interface KeyLookup extends Pick<OpenWork, 'watch'> {
  /** The holder of a presented key: at once from memory, else from the database; undefined when it opens nothing. */
  find(presented: string): Found | Promise<Found>
  /** By id, for work that a key has queued. Undefined: it was revoked, or has expired. */
  byId(keyId: string): Found | Promise<Found>
  /** Forgets what is remembered of a key. */
  forget(keyId: string): void
  stop(): Promise<void>
}

interface Options {
  readonly store: Pick<KeyStore, 'grantsOfHashes' | 'grantOfId' | 'valid' | 'markUsed'>
  /** Of the hashes. */
  readonly pepper: Buffer
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  readonly log: Pick<Log, 'debug'>
  /** Monotonic. */
  readonly nowMs: () => number
}

/**
 * One look of many is worth a short wait under a flood: a key in use is remembered, and looked up anew before it is forgotten,
 * so only its first call can meet that wait.
 */
const restBetweenLooksMs = 25

/** Looks keys up, remembers them for 5 s, and hears when they change. Create it before the notifications start. */
export function createKeyLookup({ store, pepper, notifications, log, nowMs }: Options): KeyLookup {
  // Made once: from bytes it would be made anew for each hash.
  const pepperKey = createSecretKey(pepper)
  const cache = new KeyCache<KeyHolder>({ nowMs })
  const lastUsed = createLastUsed({ write: store.markUsed, log })
  // A flood of wrong keys must not take the database from those who hold right ones.
  const grantOfHash = gathered(store.grantsOfHashes, { restMs: restBetweenLooksMs })
  const openWork = createOpenWork({ store, log })

  notifications.on(keyChannel, keyId => {
    cache.drop(keyId)
    void openWork.check([keyId])
  })
  notifications.onReconnect(() => {
    cache.clear()
    void openWork.check()
  })

  const used = (found: Found): Found => {
    if (found) lastUsed.touch(found.key.id)
    return found
  }
  const look = (name: string, load: () => Promise<KeyGrant | undefined>): Found | Promise<Found> => {
    const found = cache.get(name, async () => remembered(await load()))
    return found instanceof Promise ? found.then(used) : used(found)
  }

  return {
    find(presented) {
      if (!isKey(presented)) return undefined
      // The whole digest: two keys with a long common beginning must not be taken for one another.
      return look(hash('sha256', presented, 'base64'), () => grantOfHash(hashOf(presented, pepperKey)))
    },
    byId: keyId => look(keyId, () => store.grantOfId(keyId)),
    forget: keyId => cache.drop(keyId),
    watch: openWork.watch,
    async stop() {
      await openWork.stop()
      await lastUsed.stop()
    },
  }
}

const remembered = (grant: KeyGrant | undefined): Remembered<KeyHolder> => ({
  value: grant && holderOf(grant),
  keyId: grant?.id,
  restMs: grant?.rest_ms ?? null,
})

/** Principal: the key's owner, else the key itself. Gaps: section 3. */
const holderOf = ({ id, owner_id, role, models, passthrough, cache, log_bodies, ...grant }: KeyGrant): KeyHolder => ({
  principal: owner_id ?? id,
  role,
  ownerScope: owner_id ?? undefined,
  key: {
    id,
    models,
    ...(grant.ancestors.length > 0 && { ancestors: grant.ancestors }),
    ...(passthrough.length > 0 && { passthrough }),
    ...(cache && { cacheTtlMs: cacheTtlMs(cache.ttl) ?? 0 }),
    ...(log_bodies && { logBodiesUntilMs: Date.parse(log_bodies.until) }),
    isLimited: grant.is_limited,
    isNarrow: grant.is_narrow,
    expires: grant.expires,
  },
})
