import { median, rounded } from '../statistics.ts'
import type { Mode, Program } from './contenders.ts'
import type { LoadResult, Spread } from './gateway-load.ts'
import type { Outcome, Sample } from './rounds.ts'
import type { ScenarioName } from './scenario-name.ts'

/** What a figure should be. */
export interface Goal {
  readonly is: 'at most' | 'at least'
  readonly target: number
  /** Beyond it the run has failed; the target itself unless given. Infinity: the target is only printed. */
  readonly limit?: number
}

/** One number about Switchyard, mostly against another program of the same run. */
export interface Figure {
  readonly name: string
  /** NaN when a program that it needs did not run. */
  readonly value: number
  readonly unit: '' | 'ms' | 'MiB'
  readonly goal?: Goal
  readonly detail: string
}

/** Verdict of a figure against its goal; empty without one. */
export type Verdict = 'ok' | 'beyond target' | 'MISSED' | ''

/** The verdict on a figure; what could not be measured has missed its goal. */
export function verdictOf({ value, goal }: Pick<Figure, 'value' | 'goal'>): Verdict {
  if (!goal) return ''
  const { is, target, limit = target } = goal
  const keeps = (bound: number): boolean => (is === 'at most' ? value <= bound : value >= bound)
  if (keeps(target)) return 'ok'
  return keeps(limit) || Math.abs(limit) === Number.POSITIVE_INFINITY ? 'beyond target' : 'MISSED'
}

const atMost = (target: number, limit?: number): Goal => ({
  is: 'at most',
  target,
  ...(limit !== undefined && { limit }),
})
const wanted = (target: number): Goal => atMost(target, Number.POSITIVE_INFINITY)

/** All figures of a run. Source of the goals: Gateway, section 6, and what this project promises. */
export function figuresOf({ samples }: Pick<Outcome, 'samples'>): Figure[] {
  const of = (program: Program, mode: Mode, scenario: ScenarioName): readonly Sample[] =>
    samples.filter(sample => sample.program === program && sample.mode === mode && sample.scenario === scenario)
  return [
    ...costFigures(of),
    ...(['passthrough', 'translation'] as const).flatMap(mode => [
      ...latencyFigures(of, mode),
      ...streamFigures(of, mode),
    ]),
    ...memoryFigures(of),
  ]
}

type Select = (program: Program, mode: Mode, scenario: ScenarioName) => readonly Sample[]

/** Median and minimum of the CPU time, in microseconds. */
export function costOf(samples: readonly Sample[]): { readonly median: number; readonly least: number } {
  const costs = samples.map(({ cpuUs }) => cpuUs)
  return { median: median(costs), least: costs.length === 0 ? Number.NaN : Math.min(...costs) }
}

function costFigures(of: Select): Figure[] {
  const ours = (mode: Mode, scenario: ScenarioName) => of('Switchyard', mode, scenario)
  const overYardstick = (mode: Mode, scenario: ScenarioName, goal?: Goal): Figure =>
    ratio(`${mode} ${scenario}: CPU time, Switchyard / bare proxy`, goal, {
      over: ours(mode, scenario),
      under: of('bare proxy', mode, scenario),
    })
  return [
    overYardstick('passthrough', 'json', atMost(1.9, 2.5)),
    ratio(
      'passthrough json: CPU time, Portkey / Switchyard',
      { is: 'at least', target: 4 },
      {
        over: of('Portkey', 'passthrough', 'json'),
        under: ours('passthrough', 'json'),
      },
    ),
    ratio('passthrough json, virtual key: CPU time, Switchyard / bare proxy', atMost(2.1, 2.7), {
      over: of('Switchyard, virtual key', 'passthrough', 'json'),
      under: of('bare proxy', 'passthrough', 'json'),
    }),
    ratio('passthrough json, key with a budget: CPU time, Switchyard / bare proxy', atMost(2.8, 3.6), {
      over: of('Switchyard, key with a budget', 'passthrough', 'json'),
      under: of('bare proxy', 'passthrough', 'json'),
    }),
    overYardstick('passthrough', 'large', atMost(1.25, 1.45)),
    overYardstick('passthrough', 'paced', atMost(1.15, 1.35)),
    overYardstick('passthrough', 'burst'),
    overYardstick('translation', 'json'),
    ratio('translated json: CPU time, claude-code-router / Switchyard', undefined, {
      over: of('claude-code-router', 'translation', 'json'),
      under: ours('translation', 'json'),
    }),
    overYardstick('translation', 'paced', atMost(1.5)),
    overYardstick('translation', 'burst'),
  ]
}

interface Compared {
  readonly over: readonly Sample[]
  readonly under: readonly Sample[]
}

function ratio(name: string, goal: Goal | undefined, { over, under }: Compared): Figure {
  const [dividend, divisor] = [costOf(over), costOf(under)]
  const detail = `${rounded(dividend.median)} / ${rounded(divisor.median)} us; of minima ${rounded(dividend.least / divisor.least)}`
  return { name, value: dividend.median / divisor.median, unit: '', ...(goal && { goal }), detail }
}

type Timed = 'firstByte' | 'firstContent' | 'whole' | 'relay'

function latencyFigures(of: Select, mode: Mode): Figure[] {
  const added = (name: string, scenario: ScenarioName, { field, part, goal }: Time): Figure => {
    const middle = (program: Program) => median(of(program, mode, scenario).map(({ result }) => result[field][part]))
    const [ours, direct] = [middle('Switchyard'), middle('direct')]
    const detail = `${rounded(ours)} - ${rounded(direct)} ms, through Switchyard and direct`
    return { name: `${mode}, ${name}`, value: ours - direct, unit: 'ms', goal, detail }
  }
  return [
    added('one client: added time to first byte, p50', 'one stream', {
      field: 'firstByte',
      part: 'p50',
      goal: atMost(1),
    }),
    added('one client: added time to first byte, p99', 'one stream', {
      field: 'firstByte',
      part: 'p99',
      goal: atMost(5),
    }),
    added('one client: added time to first content, p50', 'one stream', {
      field: 'firstContent',
      part: 'p50',
      goal: wanted(1),
    }),
    added('one client: added time for JSON, p50', 'one json', { field: 'whole', part: 'p50', goal: wanted(0.3) }),
    added('one client: added time for JSON, p99', 'one json', { field: 'whole', part: 'p99', goal: wanted(1.5) }),
    ...(mode === 'passthrough'
      ? [added('one client: added time for 400 KB, p50', 'one large', { field: 'whole', part: 'p50', goal: wanted(3) })]
      : []),
    added('500 streams: added time per event, p50', 'paced', { field: 'relay', part: 'p50', goal: atMost(1, 4) }),
    added('500 streams: added time per event, p99', 'paced', { field: 'relay', part: 'p99', goal: wanted(1) }),
  ]
}

interface Time {
  readonly field: Timed
  readonly part: keyof Spread
  readonly goal: Goal
}

function streamFigures(of: Select, mode: Mode): Figure[] {
  const paced = of('Switchyard', mode, 'paced')
  const yardstick = of('bare proxy', mode, 'paced')
  const counted = (what: string, count: (result: LoadResult) => number): Figure => {
    const total = (samples: readonly Sample[]) =>
      samples.length === 0 ? Number.NaN : samples.reduce((sum, { result }) => sum + count(result), 0)
    const streams = paced.reduce((sum, { result }) => sum + result.calls, 0)
    const detail = `of ${streams} streams; ${total(yardstick)} through the bare proxy`
    return { name: `${mode}, 500 streams: ${what}`, value: total(paced), unit: '', goal: atMost(0), detail }
  }
  return [
    counted('lost events or broken streams', ({ lostEvents, broken }) => Math.max(lostEvents, broken)),
    counted('stalled events', ({ stalls }) => stalls),
  ]
}

const memoryLimitMib = 350

function memoryFigures(of: Select): Figure[] {
  const memory = (name: string, values: readonly number[], target: number): Figure => ({
    name,
    value: values.length === 0 ? Number.NaN : Math.max(...values),
    unit: 'MiB',
    goal: atMost(target, memoryLimitMib),
    detail: `median of the rounds ${rounded(median(values))}; fails above ${memoryLimitMib}`,
  })
  return (['passthrough', 'translation'] as const).flatMap(mode => [
    memory(
      `${mode}: memory after the JSON load`,
      of('Switchyard', mode, 'json').map(({ residentMib }) => residentMib),
      180,
    ),
    memory(
      `${mode}: memory at 2,000 streams`,
      of('Switchyard', mode, 'streams').map(({ maxResidentMib }) => maxResidentMib),
      250,
    ),
  ])
}
