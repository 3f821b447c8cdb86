import type { Caller } from '../http/caller.ts'
import { AppError } from '../platform/errors.ts'
import type { BatchFormat, BatchPage, BatchRow, BatchStore } from './batch-store.ts'
import { noBatch } from './errors.ts'
import type { LineStore } from './line-store.ts'
import { anthropicLine, resultLines } from './result-lines.ts'

interface Deps {
  readonly store: BatchStore
  readonly lines: Pick<LineStore, 'page'>
  /** Notifies the processes that make the calls. */
  readonly announce: () => void
}

interface Page {
  readonly rows: readonly BatchRow[]
  /** True when there are more in the direction of the page. */
  readonly hasMore: boolean
}

type Place = Pick<BatchPage, 'after' | 'before' | 'limit'>

/** Rules for the batches of a format: a batch is visible to the principal that created it. */
export function createBatches({ store, lines, announce }: Deps, format: BatchFormat) {
  const named = (id: string, { principal }: Caller) => ({ principal, format, id })

  async function get(id: string, caller: Caller): Promise<BatchRow> {
    const row = await store.find(named(id, caller))
    if (!row) throw noBatch(id)
    return row
  }

  return {
    get,

    async list({ limit, ...place }: Place, { principal }: Caller): Promise<Page> {
      const isBackwards = place.before !== undefined && place.after === undefined
      const rows = await store.list({ ...place, principal, format, limit: limit + 1 })
      const hasMore = rows.length > limit
      return { hasMore, rows: hasMore ? (isBackwards ? rows.slice(1) : rows.slice(0, -1)) : rows }
    },

    async cancel(id: string, caller: Caller): Promise<BatchRow> {
      const row = await store.cancel(named(id, caller))
      if (!row) {
        const { state } = await get(id, caller)
        throw new AppError(
          'conflict',
          `batch ${id} cannot be cancelled: it ${state === 'ended' ? 'has ended' : 'is ending'}`,
        )
      }
      announce()
      return row
    },

    async remove(id: string, caller: Caller): Promise<void> {
      if (await store.remove(named(id, caller))) return
      await get(id, caller)
      throw new AppError('conflict', `batch ${id} has not ended; cancel it first`)
    },

    /** Returns the results of a batch that has ended, in Anthropic's format, as lines. */
    async results(id: string, caller: Caller): Promise<AsyncGenerator<Buffer>> {
      const row = await get(id, caller)
      if (row.state !== 'ended') throw new AppError('conflict', `batch ${id} has not ended; it has no results yet`)
      return resultLines(lines, row, { lineOf: anthropicLine })
    },
  }
}

export type Batches = ReturnType<typeof createBatches>
