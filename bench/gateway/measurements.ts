import { eventsPerStream } from '../exchange.ts'
import type { Chart } from '../plot.ts'
import { median, rounded } from '../statistics.ts'
import { contenders } from './contenders.ts'
import { costOf } from './figures.ts'
import type { LoadResult, Spread } from './gateway-load.ts'
import type { Outcome, Sample } from './rounds.ts'
import type { ScenarioName } from './scenario-name.ts'
import { fits, type Scenario } from './scenarios.ts'
import { markdownTable } from './table.ts'

type Key = Pick<Sample, 'program' | 'mode' | 'scenario'>

const samplesOf = (samples: readonly Sample[], { program, mode, scenario }: Key): readonly Sample[] =>
  samples.filter(sample => sample.program === program && sample.mode === mode && sample.scenario === scenario)

/** A column of a scenario's table, over the rounds of one contender and of the yardstick on its mode. */
interface Column {
  readonly head: string
  readonly cell: (own: readonly Sample[], yardstick: readonly Sample[]) => string
}

/** What one scenario brought for each contender, as a Markdown table with its title. */
export function measurementTable(scenario: Scenario, { samples }: Pick<Outcome, 'samples'>): string {
  const columns = columnsOf(scenario)
  const rows = contenders
    .filter(contender => fits(contender, scenario))
    .map(({ program, mode }) => {
      const own = samplesOf(samples, { program, mode, scenario: scenario.name })
      const yardstick = samplesOf(samples, { program: 'bare proxy', mode, scenario: scenario.name })
      return [`${program}, ${mode}`, ...columns.map(({ cell }) => (own.length === 0 ? '' : cell(own, yardstick)))]
    })
  return `**${scenario.name}**: ${scenario.title}\n\n${markdownTable(['', ...columns.map(({ head }) => head)], rows)}`
}

function columnsOf({ per, load, isTimed = false, isAlone = false }: Scenario): Column[] {
  const isStream = load.kind !== 'json'
  const unitsPerCall = per === 'event' ? eventsPerStream : 1
  return [
    { head: `CPU us per ${per}`, cell: own => number(costOf(own).median) },
    { head: 'least', cell: own => number(costOf(own).least) },
    { head: 'in children', cell: middle(({ childrenUs }) => childrenUs) },
    { head: '/ bare proxy', cell: (own, yardstick) => number(costOf(own).median / costOf(yardstick).median) },
    { head: `${per}s/s`, cell: middle(({ result }) => (result.calls * unitsPerCall) / (result.elapsedMs / 1_000)) },
    ...(isStream && isTimed ? [times('first byte', 'firstByte'), times('first content', 'firstContent')] : []),
    ...(isStream ? [times('per event', 'relay')] : []),
    times('whole', 'whole'),
    ...(isStream ? [total('lost', 'lostEvents'), total('broken', 'broken'), total('stalled', 'stalls')] : []),
    ...(isAlone ? [{ head: 'open at once', cell: middle(({ result }) => result.maxOpen) }] : []),
    { head: 'most MiB', cell: middle(({ maxResidentMib }) => maxResidentMib) },
  ]
}

type Fields<Type> = { [Name in keyof LoadResult]-?: LoadResult[Name] extends Type ? Name : never }[keyof LoadResult]

const times = (head: string, field: Fields<Spread>): Column => {
  const [p50, p99] = [middle(({ result }) => result[field].p50), middle(({ result }) => result[field].p99)]
  return { head: `${head} ms, p50 / p99`, cell: own => `${p50(own)} / ${p99(own)}` }
}

const total = (head: string, field: Fields<number>): Column => ({
  head,
  cell: own => String(own.reduce((sum, { result }) => sum + result[field], 0)),
})

function middle(value: (sample: Sample) => number): (own: readonly Sample[]) => string {
  return own => number(median(own.map(value)))
}

const number = (value: number): string => (Number.isFinite(value) ? rounded(value) : '')

const plotted: readonly (readonly [ScenarioName, string])[] = [
  ['json', 'JSON, 64 connections: CPU microseconds per request'],
  ['paced', '500 streams, events 20 ms apart: CPU microseconds per event'],
  ['burst', 'Streams without pauses: CPU microseconds per event'],
  ['streams', '2,000 streams: memory in MiB'],
]

/** The charts of a run: what each gateway costs. */
export function chartsOf({ samples }: Pick<Outcome, 'samples'>): Chart[] {
  return plotted.map(([scenario, title]) => ({
    title,
    bars: contenders
      .filter(({ program, only }) => program !== 'direct' && (only?.includes(scenario) ?? true))
      .map(({ program, mode }) => {
        const own = samplesOf(samples, { program, mode, scenario })
        const value = scenario === 'streams' ? median(own.map(each => each.maxResidentMib)) : costOf(own).median
        return { label: `${program}, ${mode}`, value, isOurs: program.startsWith('Switchyard') }
      }),
  }))
}
