import type { Figure } from '../bench-case.ts'
import { median, rounded } from '../statistics.ts'
import type { Sample } from './rounds.ts'
import type { Scenario } from './scenarios.ts'

/** Names of the contenders; `other` is absent when no other commit takes part. */
export interface Names {
  readonly own: string
  readonly proxy: string
  readonly other?: string
}

/** The ratios of the medians of all slices, and what a call costs each contender. */
export function figuresOf(scenario: Scenario, names: Names, samples: readonly Sample[]): Figure[] {
  const of = (name: string) =>
    samples.filter(({ contender, scenario: measured }) => contender === name && measured === scenario.name)
  const { own, proxy, other } = names
  const ratio = (under: string, target: number | undefined): Figure => ({
    name: `${scenario.name}: CPU, ${own} / ${under}`,
    value: medianOf(of(own), 'cpuUs') / medianOf(of(under), 'cpuUs'),
    unit: '',
    ...(target !== undefined && { target }),
    detail: `CPU us per ${scenario.per}: ${spread(of(own))} / ${spread(of(under))}`,
  })
  const costs = [proxy, own, ...(other === undefined ? [] : [other])].map(name => cost(name, scenario, of(name)))
  return [
    ratio(proxy, scenario.overProxy),
    ...(other === undefined ? [] : [ratio(other, scenario.overOther)]),
    ...costs,
  ]
}

function cost(name: string, { name: scenario, per }: Scenario, samples: readonly Sample[]): Figure {
  const middle = (field: NumberOf) => rounded(medianOf(samples, field))
  return {
    name: `${scenario}: ${name}`,
    value: medianOf(samples, 'cpuUs'),
    unit: `us per ${per}`,
    detail:
      `${middle('childrenUs')} us of it in child processes; ${middle('callsPerSecond')} calls/s; ` +
      `p50 ${middle('p50Ms')} ms, p99 ${middle('p99Ms')} ms; ${middle('residentMib')} MiB`,
  }
}

type NumberOf = Exclude<keyof Sample, 'contender' | 'scenario'>

const medianOf = (samples: readonly Sample[], field: NumberOf): number => median(samples.map(sample => sample[field]))

function spread(samples: readonly Sample[]): string {
  const costs = samples.map(({ cpuUs }) => cpuUs)
  return `${rounded(median(costs))} (${rounded(Math.min(...costs))} to ${rounded(Math.max(...costs))})`
}
