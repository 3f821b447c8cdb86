import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { catalogue, type MetricName, type MetricSpec } from './catalogue.ts'

type Labels = Readonly<Record<string, string>>

type NameOf<Type extends MetricSpec['type']> = {
  [Name in MetricName]: (typeof catalogue)[Name]['type'] extends Type ? Name : never
}[MetricName]

/** The metrics of one process. */
export interface Instruments {
  count(name: NameOf<'counter'>, labels?: Labels, amount?: number): void
  /** Sets a counter that is maintained elsewhere to its total. */
  total(name: NameOf<'counter'>, total: number, labels?: Labels): void
  observe(name: NameOf<'histogram'>, labels: Labels, value: number): void
  set(name: NameOf<'gauge'>, value: number, labels?: Labels): void
  /** Removes all values of a gauge, before it is set again. */
  clear(name: NameOf<'gauge'>): void
  /** Returns all values in the text format of Prometheus. */
  text(): Promise<string>
}

const noLabels: Labels = {}

/** Creates every metric of the catalogue. A counter without labels starts at 0, so that rates have a first value. */
export function createInstruments(): Instruments {
  const registry = new Registry()
  const counters = new Map<string, Counter>()
  const gauges = new Map<string, Gauge>()
  const histograms = new Map<string, Histogram>()
  for (const [name, spec] of Object.entries<MetricSpec>(catalogue)) {
    const common = { name, help: spec.help, labelNames: [...spec.labels], registers: [registry] }
    if (spec.type === 'counter') counters.set(name, new Counter(common))
    else if (spec.type === 'gauge') gauges.set(name, emptied(new Gauge(common)))
    else histograms.set(name, new Histogram({ ...common, buckets: [...(spec.buckets ?? [])] }))
  }
  return {
    count: (name, labels = noLabels, amount = 1) => counters.get(name)?.inc(labels, amount),
    total(name, total, labels = noLabels) {
      const counter = counters.get(name)
      counter?.remove(labels)
      counter?.inc(labels, total)
    },
    observe: (name, labels, value) => histograms.get(name)?.observe(labels, value),
    set: (name, value, labels = noLabels) => gauges.get(name)?.set(labels, value),
    clear(name) {
      const gauge = gauges.get(name)
      if (gauge) emptied(gauge)
    },
    text: () => registry.metrics(),
  }
}

/** Removes all values: a gauge that was not measured must be absent, not 0. */
function emptied(gauge: Gauge): Gauge {
  gauge.reset()
  // Without labels a reset leaves 0.
  gauge.remove({})
  return gauge
}
