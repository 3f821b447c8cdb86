import { pause } from './timers.ts'

interface Waiting<Name, Found> {
  readonly name: Name
  readonly resolve: (found: Found) => void
  readonly reject: (error: unknown) => void
}

/** Asks for many names at once; one answer each, in the order of the names. */
type LoadMany<Name, Found> = (names: readonly Name[]) => Promise<readonly Found[]>

/**
 * Makes look-ups of one name out of look-ups of many. One query is on its way at a time: a name that comes alone is asked
 * for at once, those that come meanwhile share the next query. So a flood of names costs a few queries, not one each.
 * `restMs` is the least time between the ends of two queries, so that more names share one.
 */
export function gathered<Name, Found>(
  load: LoadMany<Name, Found>,
  { mostNames = 500, restMs = 0 } = {},
): (name: Name) => Promise<Found> {
  let waiting: Waiting<Name, Found>[] = []
  let isAsking = false

  const ask = async (batch: readonly Waiting<Name, Found>[]): Promise<void> => {
    try {
      const found = await load(batch.map(({ name }) => name))
      if (found.length !== batch.length) throw new Error(`${found.length} answers for ${batch.length} names`)
      found.forEach((value, at) => {
        batch[at]?.resolve(value)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  const askAll = async (): Promise<void> => {
    isAsking = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, mostNames)
      waiting = waiting.slice(mostNames)
      await ask(batch)
      if (restMs > 0) await pause(restMs)
    }
    isAsking = false
  }

  return name =>
    new Promise((resolve, reject) => {
      waiting.push({ name, resolve, reject })
      if (!isAsking) void askAll()
    })
}
