import { pause } from './timers.ts'

interface Waiting<Name, Found> {
  readonly name: Name
  readonly resolve: (found: Found) => void
  readonly reject: (error: unknown) => void
}

/** Loads many names at once; one result per name, in the order of the names. */
type LoadMany<Name, Found> = (names: readonly Name[]) => Promise<readonly Found[]>

/**
 * Batches lookups of single names. One query runs at a time: the first name is loaded at once, names that arrive
 * meanwhile share the next query. `pauseMs` is a pause after each query, so that more names share one.
 */
export function gathered<Name, Found>(
  load: LoadMany<Name, Found>,
  { maxNames = 500, pauseMs = 0 } = {},
): (name: Name) => Promise<Found> {
  let waiting: Waiting<Name, Found>[] = []
  let isLoading = false

  const loadBatch = async (batch: readonly Waiting<Name, Found>[]): Promise<void> => {
    try {
      const found = await load(batch.map(({ name }) => name))
      if (found.length !== batch.length)
        throw new Error(`lookup returned ${found.length} results for ${batch.length} names (bug)`)
      found.forEach((value, at) => {
        batch[at]?.resolve(value)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  const loadAll = async (): Promise<void> => {
    isLoading = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, maxNames)
      waiting = waiting.slice(maxNames)
      await loadBatch(batch)
      if (pauseMs > 0) await pause(pauseMs)
    }
    isLoading = false
  }

  return name =>
    new Promise((resolve, reject) => {
      waiting.push({ name, resolve, reject })
      if (!isLoading) void loadAll()
    })
}
