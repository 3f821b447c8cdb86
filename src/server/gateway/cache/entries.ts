import { nextVersion, type RowSealer } from '../../db/sealed-rows.ts'
import type { Log } from '../../platform/log.ts'
import { pause } from '../../platform/timers.ts'
import type { EntryName, ResponseCacheStore } from './store.ts'

/** An answer as its client got it: status 200, with the headers that belong to the body. */
export interface CachedAnswer {
  readonly contentType: string
  /** `x-switchyard-degraded`, where the answer had it. */
  readonly degraded: string | undefined
  readonly body: Buffer
}

interface Deps {
  readonly store: ResponseCacheStore
  readonly sealer: RowSealer<'response_cache'>
  /** Bytes of all entries. */
  readonly maxBytes: () => number
  readonly log: Pick<Log, 'warn'>
}

/** A call never waits longer for an entry: a database that hangs costs it this much, and then it is a miss. */
const maxLookupMs = 2_000
/** Answers that wait for the database; further ones are not stored. */
const maxPendingBytes = 64 * 1024 * 1024
/** The share of all bytes that one process writes before it deletes the oldest entries. */
const trimShare = 1 / 32

/** Answers that calls with the same request get again. Failures of the database are logged, and never fail a call. */
export type ResponseCache = ReturnType<typeof createResponseCache>

export function createResponseCache({ store, sealer, maxBytes, log }: Deps) {
  /** A client may repeat a request before the answer to the first is stored. */
  const writes = new Map<string, Promise<void>>()
  let pendingBytes = 0
  // Other processes, and those before this one, have written too.
  let untrimmedBytes = Number.POSITIVE_INFINITY

  const keyOf = ({ principal, id }: EntryName): string => `${id} ${principal}`

  const read = async (name: EntryName, ttlMs: number) => {
    await writes.get(keyOf(name))
    const row = await store.find(name, ttlMs)
    return row && { ...unpacked(sealer.open(row)), ageSeconds: Math.floor(row.age_s) }
  }

  const trim = async (): Promise<void> => {
    if (untrimmedBytes < maxBytes() * trimShare) return
    untrimmedBytes = 0
    while (await store.trim(maxBytes()));
  }

  const write = async (name: EntryName, answer: CachedAnswer, ttlMs: number): Promise<void> => {
    const bound = { ...name, version: nextVersion(undefined) }
    const row = { ...bound, ...sealer.seal(packed(answer), bound) }
    await store.put(row, ttlMs)
    untrimmedBytes += row.sealed.length
    await trim()
  }

  return {
    /** The answer of that name, if it is not older than `ttlMs`. */
    async find(name: EntryName, ttlMs: number): Promise<(CachedAnswer & { readonly ageSeconds: number }) | undefined> {
      const ended = new AbortController()
      try {
        return await Promise.race([read(name, ttlMs), pause(maxLookupMs, ended.signal).then(() => undefined)])
      } catch (error) {
        log.warn({ err: error }, 'could not read the response cache; the call goes to an upstream')
        return undefined
      } finally {
        ended.abort()
      }
    },

    /** Stores an answer in the background. */
    keep(name: EntryName, answer: CachedAnswer, ttlMs: number): void {
      const { length } = answer.body
      if (pendingBytes + length > maxPendingBytes) return
      pendingBytes += length
      const key = keyOf(name)
      const writing = write(name, answer, ttlMs)
        .catch((error: unknown) => log.warn({ err: error }, 'could not write to the response cache'))
        .finally(() => {
          pendingBytes -= length
          if (writes.get(key) === writing) writes.delete(key)
        })
      writes.set(key, writing)
    },
  }
}

const newline = 0x0a

/** The head as one line of JSON, then the body. */
const packed = ({ body, ...head }: CachedAnswer): Buffer =>
  Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body])

function unpacked(bytes: Buffer): CachedAnswer {
  const at = bytes.indexOf(newline)
  const head = JSON.parse(bytes.toString('utf8', 0, at)) as Omit<CachedAnswer, 'body'>
  return { ...head, body: bytes.subarray(at + 1) }
}
