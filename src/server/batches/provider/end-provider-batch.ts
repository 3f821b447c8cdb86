import type { Budgets } from '../../budgets/budgets.ts'
import type { ClaimedProviderBatch, ProviderBatchStore, Release } from './provider-batch-store.ts'

interface Deps {
  readonly store: Pick<ProviderBatchStore, 'openLines' | 'release' | 'end'>
  readonly budgets: Pick<Budgets, 'releaseAll'>
}

type Claimed = Pick<ClaimedProviderBatch, 'id' | 'batch_id' | 'claim'>

const maxLines = 500

/** Lines are called singly from now on. */
export const singly: Release = { waitMs: 0, isTry: false, isSingle: true }

/** Creates the function that ends a provider batch: the lines without a result are released with their reservations. */
export const createEndProviderBatch =
  ({ store, budgets }: Deps) =>
  async (batch: Claimed, release: Release): Promise<void> => {
    for (;;) {
      const lines = await store.openLines(batch, maxLines)
      if (lines.length === 0) break
      // First, and once more after a crash: a released line no longer names its reservation.
      await budgets.releaseAll(lines.flatMap(({ request_id }) => request_id ?? []))
      await store.release(
        batch,
        lines.map(({ seq }) => seq),
        release,
      )
    }
    await store.end(batch)
  }

export type EndProviderBatch = ReturnType<typeof createEndProviderBatch>
