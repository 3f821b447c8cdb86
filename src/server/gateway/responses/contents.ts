import { nextVersion, type RowSealer } from '../../db/sealed-rows.ts'
import { type Json, recordsOf } from '../../platform/json.ts'
import type { Log } from '../../platform/log.ts'
import { sinceCompaction } from '../formats/openai-responses/compaction.ts'
import type { ResponseName, ResponseRow, ResponseStore } from './store.ts'

/** What is stored of a response: the items of its own request, and the answer. */
export interface ResponseContent {
  readonly input: readonly Json[]
  readonly response: Json
}

interface Deps {
  readonly store: ResponseStore
  readonly sealer: RowSealer<'response_contents'>
  readonly log: Pick<Log, 'warn'>
}

/** Stored responses, each visible to the principal alone that made it. */
export type StoredResponses = ReturnType<typeof createStoredResponses>

export function createStoredResponses({ store, sealer, log }: Deps) {
  /** Writes that have not ended: a client may go on from a response before its row is committed. */
  const writes = new Map<string, Promise<void>>()
  const settled = ({ principal, id }: ResponseName) => writes.get(`${principal} ${id}`)
  const opened = (row: Parameters<typeof sealer.open>[0]): ResponseContent =>
    JSON.parse(sealer.open(row).toString()) as ResponseContent

  return {
    /** Stores a response in the background; a failure is logged, and the response cannot be continued. */
    keep(row: ResponseRow, content: ResponseContent | undefined): void {
      const { principal, id } = row
      const bound = { principal, id, version: nextVersion(undefined) }
      const sealed = content && { ...bound, ...sealer.seal(JSON.stringify(content), bound) }
      const key = `${principal} ${id}`
      const write = store.insert(row, sealed).catch((error: unknown) => {
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
      return row && opened(row)
    },

    /** The items up to and including the response that still matter, the oldest first; undefined where an earlier response is missing. */
    async items(name: ResponseName): Promise<readonly Json[] | undefined> {
      const chain = await store.chain(name)
      if (chain.length === 0 || chain[0]?.previous_id) return undefined
      return sinceCompaction(
        chain.map(opened).flatMap(({ input, response }) => [...input, ...recordsOf(response['output'])]),
      )
    },

    async remove(name: ResponseName): Promise<boolean> {
      await settled(name)
      return store.remove(name)
    },
  }
}
