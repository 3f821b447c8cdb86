import { nextVersion, type RowCipher } from '../../db/encrypted-rows.ts'
import type { Log } from '../../platform/log.ts'
import { pause } from '../../platform/timers.ts'
import type { EntryName, ResponseCacheStore } from './store.ts'

/** A cached answer with status 200, as its client received it. */
export interface CachedAnswer {
  readonly contentType: string
  /** Value of `x-switchyard-degraded`, where the answer had it. */
  readonly degraded: string | undefined
  readonly body: Buffer
}

interface Deps {
  readonly store: ResponseCacheStore
  readonly cipher: RowCipher<'response_cache'>
  /** Returns the limit of all entries, in bytes. */
  readonly maxBytes: () => number
  readonly log: Pick<Log, 'warn'>
}

/** Maximum time of a lookup. After it, as with an unresponsive database, the lookup is a miss. */
const maxLookupMs = 2_000
/** Maximum size of answers with a write in flight; further answers are not cached. */
const maxPendingBytes = 64 * 1024 * 1024
/** Share of the limit that a process writes before it deletes the oldest entries. */
const trimShare = 1 / 32

/** Response cache. Failures of the database are logged and never fail a call. */
export type ResponseCache = ReturnType<typeof createResponseCache>

export function createResponseCache({ store, cipher, maxBytes, log }: Deps) {
  /** Writes in flight, by entry: a client may repeat a request before the first answer is stored. */
  const writes = new Map<string, Promise<void>>()
  let pendingBytes = 0
  // The first write trims: other and earlier processes have written as well.
  let untrimmedBytes = Number.POSITIVE_INFINITY

  const keyOf = ({ principal, id }: EntryName): string => `${id} ${principal}`

  const read = async (name: EntryName, ttlMs: number) => {
    await writes.get(keyOf(name))
    const row = await store.find(name, ttlMs)
    return row && { ...unpacked(cipher.decrypt(row)), ageSeconds: Math.floor(row.age_s) }
  }

  const trim = async (): Promise<void> => {
    if (untrimmedBytes < maxBytes() * trimShare) return
    untrimmedBytes = 0
    while (await store.trim(maxBytes()));
  }

  const write = async (name: EntryName, answer: CachedAnswer, ttlMs: number): Promise<void> => {
    const bound = { ...name, version: nextVersion(undefined) }
    const row = { ...bound, ...cipher.encrypt(packed(answer), bound) }
    await store.put(row, ttlMs)
    untrimmedBytes += row.sealed.length
    await trim()
  }

  return {
    /** Returns the entry, if it is not older than `ttlMs`. */
    async find(name: EntryName, ttlMs: number): Promise<(CachedAnswer & { readonly ageSeconds: number }) | undefined> {
      const ended = new AbortController()
      try {
        return await Promise.race([read(name, ttlMs), pause(maxLookupMs, ended.signal).then(() => undefined)])
      } catch (error) {
        log.warn({ err: error }, 'cannot read the response cache; calling an upstream')
        return undefined
      } finally {
        ended.abort()
      }
    },

    /** Stores an answer in the background. */
    put(name: EntryName, answer: CachedAnswer, ttlMs: number): void {
      const { length } = answer.body
      if (pendingBytes + length > maxPendingBytes) return
      pendingBytes += length
      const key = keyOf(name)
      const writing = write(name, answer, ttlMs)
        .catch((error: unknown) => log.warn({ err: error }, 'cannot write to the response cache'))
        .finally(() => {
          pendingBytes -= length
          if (writes.get(key) === writing) writes.delete(key)
        })
      writes.set(key, writing)
    },
  }
}

const newline = 0x0a

/** Serializes an answer: the head as one line of JSON, then the body. */
const packed = ({ body, ...head }: CachedAnswer): Buffer =>
  Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body])

function unpacked(bytes: Buffer): CachedAnswer {
  const at = bytes.indexOf(newline)
  const head = JSON.parse(bytes.toString('utf8', 0, at)) as Omit<CachedAnswer, 'body'>
  return { ...head, body: bytes.subarray(at + 1) }
}
