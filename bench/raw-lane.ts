import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchCase, Figure, Place } from './bench-case.ts'
import { type Contender, type Measured, measure, startBareProxy, startGateway } from './contender.ts'
import { eventsPerStream, type Kind } from './exchange.ts'
import type { ModelLoad } from './model-load.ts'
import { cpuTimeUs } from './process-figures.ts'
import { startProgram } from './program.ts'
import { median, rounded } from './statistics.ts'

const rounds = 3
const bodyBytes = 2_500

interface Scenario {
  readonly name: string
  readonly load: Omit<ModelLoad, 'origin' | 'key'>
  /** What the CPU time is divided by. */
  readonly per: 'request' | 'event'
  /** Of the ratio to the yardstick. */
  readonly target?: number
}

const load = (kind: Kind, calls: number, connections: number) => ({ kind, calls, connections, bodyBytes })

const scenarios: readonly Scenario[] = [
  { name: 'JSON 2.5 KB', load: load('json', 8_000, 64), per: 'request', target: 1.6 },
  { name: 'JSON 305 KB', load: { ...load('json', 600, 64), bodyBytes: 305_000 }, per: 'request' },
  { name: 'stream, events 20 ms apart', load: load('paced', 300, 100), per: 'event', target: 1.3 },
  { name: 'stream, burst', load: load('burst', 600, 16), per: 'event' },
]

/** Long enough that the engine has compiled both programs for good, which takes 30,000 calls; before, the ratio says little. */
const warmUps = [load('json', 40_000, 64), load('burst', 60, 16)]
const idleMs = 3_000

/** What the gateway costs on the lane that forwards bytes, against a pass-through that does nothing else. */
export const rawLane: BenchCase = {
  name: 'raw-lane',
  title: `gateway, raw lane, against node:http + undici; ${rounds} rounds, interleaved, fresh processes`,
  async run(place) {
    const upstream = await startProgram<{ origin: string }>(import.meta.resolve('./fake-upstream.ts'), {})
    const { origin } = upstream.answer
    const dataDir = join(place.folder, 'data')
    try {
      // The first start makes the database; what it costs is another case.
      await (await startGateway(origin, dataDir)).stop()
      const bare: Round[] = []
      const ours: Round[] = []
      for (let at = 1; at <= rounds; at++) {
        bare.push(await round(await startBareProxy(origin), place, `${at} bare`))
        ours.push(await round(await startGateway(origin, dataDir), place, `${at} ours`))
      }
      return [...scenarios.flatMap(scenario => figuresOf(scenario, { bare, ours })), ...extras(ours)]
    } finally {
      await upstream.stop()
    }
  },
}

interface Round {
  readonly results: ReadonlyMap<string, Measured>
  /** Share of one core, in percent, that the process takes without any request. */
  readonly idlePercent: number
}

async function round(contender: Contender, { say }: Place, label: string): Promise<Round> {
  try {
    for (const warmUp of warmUps) await measure(contender, warmUp)
    const results = new Map<string, Measured>()
    for (const { name, load, per } of scenarios) {
      const measured = await measure(contender, load)
      results.set(name, measured)
      say(`round ${label}: ${name}: ${rounded(costOf(measured, per, load.calls))} us per ${per}`)
    }
    return { results, idlePercent: await idlePercent(contender) }
  } finally {
    await contender.stop()
  }
}

async function idlePercent({ pid }: Contender): Promise<number> {
  const before = cpuTimeUs(pid)
  await sleep(idleMs)
  return (cpuTimeUs(pid) - before) / idleMs / 10
}

const costOf = ({ cpuUs }: Measured, per: Scenario['per'], calls: number): number =>
  cpuUs / (per === 'event' ? calls * eventsPerStream : calls)

interface Rounds {
  readonly bare: readonly Round[]
  readonly ours: readonly Round[]
}

function figuresOf({ name, load, per, target }: Scenario, { bare, ours }: Rounds): Figure[] {
  const costs = (of: readonly Round[]) =>
    of.flatMap(({ results }) => results.get(name) ?? []).map(measured => costOf(measured, per, load.calls))
  const [theirs, own] = [costs(bare), costs(ours)]
  const least = Math.min(...own) / Math.min(...theirs)
  const detail = `CPU us per ${per}: median ${rounded(median(own))} / ${rounded(median(theirs))}; ratio of minima ${rounded(least)}`
  const ratio = { name: `${name}: CPU ratio`, value: median(own) / median(theirs), unit: '', detail }
  return [
    { ...ratio, ...(target !== undefined && { target }) },
    ...(load.kind === 'paced' ? lateness(name, { bare, ours }) : []),
  ]
}

/** How much later events arrive than through the yardstick. */
function lateness(name: string, { bare, ours }: Rounds): Figure[] {
  const middle = (of: readonly Round[], field: 'relayP50Ms' | 'relayP99Ms') =>
    median(of.map(({ results }) => results.get(name)?.[field] ?? Number.NaN))
  return (['relayP50Ms', 'relayP99Ms'] as const).map(field => ({
    name: `${name}: added time per event, ${field === 'relayP50Ms' ? 'p50' : 'p99'}`,
    value: middle(ours, field) - middle(bare, field),
    unit: 'ms',
    detail: `${rounded(middle(ours, field))} / ${rounded(middle(bare, field))} ms`,
  }))
}

function extras(ours: readonly Round[]): Figure[] {
  const last = ours.flatMap(({ results }) => [...results.values()].map(({ residentMib }) => residentMib))
  return [
    { name: 'server memory after load, most', value: Math.max(...last), unit: 'MiB' },
    { name: 'server without requests', value: median(ours.map(({ idlePercent }) => idlePercent)), unit: '% of a core' },
  ]
}
