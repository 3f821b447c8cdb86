import { nextVersion, type RowCipher } from '../../db/encrypted-rows.ts'
import { type Json, recordsOf } from '../../platform/json.ts'
import type { Log } from '../../platform/log.ts'
import { sinceCompaction } from '../formats/openai-responses/compaction.ts'
import type { NewResponseRow, ResponseName, ResponseRow, ResponseStore } from './store.ts'

/** Stored content of a response: the input items of its request, and the response. */
export interface ResponseContent {
  readonly input: readonly Json[]
  readonly response: Json
}

interface Deps {
  readonly store: ResponseStore
  readonly cipher: RowCipher<'response_contents'>
  readonly log: Pick<Log, 'warn'>
}

/** Stored responses. Each is visible only to the principal that created it. */
export type StoredResponses = ReturnType<typeof createStoredResponses>

export function createStoredResponses({ store, cipher, log }: Deps) {
  /** Writes in flight: a client may continue a response before its row is committed. */
  const writes = new Map<string, Promise<void>>()
  const settled = ({ principal, id }: ResponseName) => writes.get(`${principal} ${id}`)
  const decrypted = (row: Parameters<typeof cipher.decrypt>[0]): ResponseContent =>
    JSON.parse(cipher.decrypt(row).toString()) as ResponseContent

  return {
    /** Stores a response in the background; a failure is logged, and the response cannot be continued. */
    save(row: NewResponseRow, content: ResponseContent | undefined): void {
      const { principal, id } = row
      const bound = { principal, id, version: nextVersion(undefined) }
      const encrypted = content && { ...bound, ...cipher.encrypt(JSON.stringify(content), bound) }
      const key = `${principal} ${id}`
      const write = store.insert(row, encrypted).catch((error: unknown) => {
        log.warn({ err: error, response: id }, 'could not store a response; it cannot be continued')
      })
      writes.set(key, write)
      void write.finally(() => {
        if (writes.get(key) === write) writes.delete(key)
      })
    },

    async find(name: ResponseName): Promise<ResponseRow | undefined> {
      await settled(name)
      return store.find(name)
    },

    async content(name: ResponseName): Promise<ResponseContent | undefined> {
      await settled(name)
      const row = await store.content(name)
      return row && decrypted(row)
    },

    /** Returns the output items of those of the responses that exist, by their ids. Throws `payload_too_large` above 32 MiB. */
    async outputs(principal: string, ids: readonly string[]): Promise<ReadonlyMap<unknown, Json>> {
      await Promise.all(ids.map(id => settled({ principal, id })))
      const outputs = (await store.contents(principal, ids)).map(row => recordsOf(decrypted(row).response['output']))
      return new Map(outputs.flat().map(item => [item['id'], item]))
    },

    /**
     * Returns the items of the chain up to this response, oldest first, from its last compaction on; undefined when an
     * earlier response is missing.
     */
    async items(name: ResponseName): Promise<readonly Json[] | undefined> {
      const chain = await store.chain(name)
      if (chain.length === 0 || chain[0]?.previous_id) return undefined
      return sinceCompaction(
        chain.map(decrypted).flatMap(({ input, response }) => [...input, ...recordsOf(response['output'])]),
      )
    },

    async remove(name: ResponseName): Promise<boolean> {
      await settled(name)
      return store.remove(name)
    },
  }
}
