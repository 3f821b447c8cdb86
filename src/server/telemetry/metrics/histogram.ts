import type { Metric } from 'prom-client'

type Labels = Readonly<Record<string, string>>

interface Spec {
  readonly name: string
  readonly help: string
  readonly buckets: readonly number[]
}

interface Series {
  readonly labels: Labels
  /** By bucket, not cumulative; the last one is for values above all bounds. */
  readonly counts: number[]
  sum: number
}

interface Line {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/**
 * A histogram whose callers keep the series that they add to. That of `prom-client` looks the labels up with each value,
 * which took 5 % of the CPU time of a small model call.
 */
export interface FastHistogram {
  /** Returns the function that adds a value to the series of these labels. */
  series(labels: Labels): (value: number) => void
  /** For the registry. */
  readonly metric: Metric
}

export function createHistogram({ name, help, buckets }: Spec): FastHistogram {
  const all = new Map<string, Series>()

  function linesOf({ labels, counts, sum }: Series): Line[] {
    let total = 0
    const lines = [...buckets, '+Inf'].map((le, index) => {
      total += counts[index] ?? 0
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total }
    })
    return [
      ...lines,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: total },
    ]
  }

  const metric = {
    name,
    help,
    type: 'histogram',
    get: async () => ({ name, help, type: 'histogram', values: [...all.values()].flatMap(linesOf), aggregator: 'sum' }),
  }
  return {
    series(labels) {
      const key = JSON.stringify(labels)
      const counts = Array.from<number>({ length: buckets.length + 1 }).fill(0)
      const found = all.get(key) ?? { labels, counts, sum: 0 }
      all.set(key, found)
      return value => {
        let index = 0
        while (index < buckets.length && value > (buckets[index] ?? 0)) index++
        found.counts[index] = (found.counts[index] ?? 0) + 1
        found.sum += value
      }
    },
    // The registry only calls `get`.
    metric: metric as unknown as Metric,
  }
}
