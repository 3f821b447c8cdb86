import { Counter, Gauge, Registry } from 'prom-client'
import { catalogue, type MetricName, type MetricSpec } from './catalogue.ts'
import { createHistogram, type FastHistogram } from './histogram.ts'

type Labels = Readonly<Record<string, string>>

type NameOf<Type extends MetricSpec['type']> = {
  [Name in MetricName]: (typeof catalogue)[Name]['type'] extends Type ? Name : never
}[MetricName]

/** The metrics of one process. */
export interface Instruments {
  count(name: NameOf<'counter'>, labels?: Labels, amount?: number): void
  /** Returns the function that adds to a counter with these labels, for the path of calls. The caller keeps it. */
  counter(name: NameOf<'counter'>, labels: Labels): (amount: number) => void
  /** Returns the function that adds a value to a histogram with these labels. The caller keeps it. */
  histogram(name: NameOf<'histogram'>, labels: Labels): (value: number) => void
  /** Sets a counter that is maintained elsewhere to its total. */
  total(name: NameOf<'counter'>, total: number, labels?: Labels): void
  observe(name: NameOf<'histogram'>, labels: Labels, value: number): void
  set(name: NameOf<'gauge'>, value: number, labels?: Labels): void
  /** Removes all values of a gauge, before it is set again. */
  clear(name: NameOf<'gauge'>): void
  /** Returns all values in the text format of Prometheus. */
  text(): Promise<string>
}

interface Pending {
  readonly name: string
  readonly labels: Labels
  sum: number
}

const noLabels: Labels = {}

/** Creates every metric of the catalogue. A counter without labels starts at 0, so that rates have a first value. */
export function createInstruments(): Instruments {
  const registry = new Registry()
  const counters = new Map<string, Counter>()
  const gauges = new Map<string, Gauge>()
  const histograms = new Map<string, FastHistogram>()
  /** By name and labels: what callers have added since the last page. */
  const pending = new Map<string, Pending>()
  for (const [name, spec] of Object.entries<MetricSpec>(catalogue)) {
    const common = { name, help: spec.help, labelNames: [...spec.labels], registers: [registry] }
    if (spec.type === 'counter') counters.set(name, new Counter(common))
    else if (spec.type === 'gauge') gauges.set(name, emptied(new Gauge(common)))
    else histograms.set(name, histogramIn(registry, name, spec))
  }
  return {
    count: (name, labels = noLabels, amount = 1) => counters.get(name)?.inc(labels, amount),
    total(name, total, labels = noLabels) {
      const counter = counters.get(name)
      counter?.remove(labels)
      counter?.inc(labels, total)
    },
    observe: (name, labels, value) => histograms.get(name)?.series(labels)(value),
    counter(name, labels) {
      const key = JSON.stringify([name, labels])
      const entry = pending.get(key) ?? { name, labels, sum: 0 }
      pending.set(key, entry)
      return amount => {
        entry.sum += amount
      }
    },
    histogram: (name, labels) => histograms.get(name)?.series(labels) ?? (() => {}),
    set: (name, value, labels = noLabels) => gauges.get(name)?.set(labels, value),
    clear(name) {
      const gauge = gauges.get(name)
      if (gauge) emptied(gauge)
    },
    text() {
      for (const entry of pending.values()) {
        if (entry.sum > 0) counters.get(entry.name)?.inc(entry.labels, entry.sum)
        entry.sum = 0
      }
      return registry.metrics()
    },
  }
}

function histogramIn(registry: Registry, name: string, { help, buckets = [] }: MetricSpec): FastHistogram {
  const histogram = createHistogram({ name, help, buckets })
  registry.registerMetric(histogram.metric)
  return histogram
}

/** Removes all values: a gauge that was not measured must be absent, not 0. */
function emptied(gauge: Gauge): Gauge {
  gauge.reset()
  // Without labels a reset leaves 0.
  gauge.remove({})
  return gauge
}
