import { setTimeout as sleep } from 'node:timers/promises'
import { startCpuClock } from '../cpu-clock.ts'
import { residentMib } from '../process-figures.ts'
import { rounded } from '../statistics.ts'
import { type Contender, contenders, type Mode, type Program } from './contenders.ts'
import { type Endpoint, type GatewayLoad, type LoadResult, sendGatewayLoad } from './gateway-load.ts'
import { sendJsonLoad } from './json-load.ts'
import type { Running, Setting } from './running.ts'
import type { ScenarioName } from './scenario-name.ts'
import { fits, loadFor, type Scenario, scenarios, warmUps } from './scenarios.ts'

/** One measurement of one contender in one round. */
export interface Sample {
  readonly program: Program
  readonly mode: Mode
  readonly scenario: ScenarioName
  /** CPU time per request or event, of the process and all that it started; NaN for `direct`. */
  readonly cpuUs: number
  /** The part of it that processes it started took. */
  readonly childrenUs: number
  readonly result: LoadResult
  /** Of the process alone, at the end and at the most. */
  readonly residentMib: number
  readonly maxResidentMib: number
}

/** A contender, or one scenario of it, that did not work. */
export interface Failure {
  readonly program: Program
  readonly mode: Mode
  readonly scenario: ScenarioName | 'start'
  readonly reason: string
}

/** What a run brought. */
export interface Outcome {
  readonly samples: readonly Sample[]
  readonly failures: readonly Failure[]
}

interface Options {
  readonly rounds: number
  readonly setting: Setting
  /** Peers that cannot run at all, with the reason. */
  readonly absent: ReadonlyMap<Program, string>
  readonly log: (line: string) => void
}

/** Measures every contender once a round, one after the other, each in fresh processes. */
export async function runRounds({ rounds, setting, absent, log }: Options): Promise<Outcome> {
  const samples: Sample[] = []
  const failures: Failure[] = []
  const present = contenders.filter(({ program }) => !absent.has(program))
  for (const { program, mode } of contenders) {
    const reason = absent.get(program)
    if (reason !== undefined) failures.push({ program, mode, scenario: 'start', reason })
  }
  for (let round = 1; round <= rounds; round++) {
    for (const contender of present) {
      log(`round ${round} of ${rounds}: ${contender.program}, ${contender.mode}`)
      for (const group of processesFor(contender)) {
        const outcome = await serve(contender, { group, setting, log })
        samples.push(...outcome.samples)
        failures.push(...outcome.failures)
      }
    }
  }
  return { samples, failures }
}

/** The scenarios that share a process. */
function processesFor(contender: Contender): Scenario[][] {
  const own = scenarios.filter(scenario => fits(contender, scenario))
  const alone = own.filter(({ isAlone = false }) => isAlone).map(scenario => [scenario])
  return [own.filter(({ isAlone = false }) => !isAlone), ...alone]
}

interface Service {
  readonly group: readonly Scenario[]
  readonly setting: Setting
  readonly log: (line: string) => void
}

async function serve(contender: Contender, { group, setting, log }: Service): Promise<Outcome> {
  const { program, mode } = contender
  const samples: Sample[] = []
  const failures: Failure[] = []
  const failed = (scenario: Failure['scenario'], error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error)
    failures.push({ program, mode, scenario, reason })
    log(`  ${scenario}: failed: ${reason}`)
  }
  const running = await contender.start(setting).catch((error: unknown) => failed('start', error))
  if (!running) return { samples, failures }
  try {
    const staysCold = group.some(({ isAlone = false }) => isAlone) || running.pid === undefined
    for (const warmUp of staysCold ? [] : warmUps) {
      const load = loadFor(warmUp, contender)
      await send(running.endpoint(load.kind), load, setting).catch((error: unknown) => failed('start', error))
    }
    for (const scenario of group) {
      const measuring = measure(running, { scenario, load: loadFor(scenario, contender), setting })
      const measured = await measuring.catch((error: unknown) => failed(scenario.name, error))
      if (!measured) continue
      samples.push({ program, mode, scenario: scenario.name, ...measured })
      log(`  ${scenario.name}: ${shown(measured, scenario)}`)
    }
  } finally {
    await running.stop()
  }
  return { samples, failures }
}

type Measured = Omit<Sample, 'program' | 'mode' | 'scenario'>

function shown({ cpuUs, maxResidentMib, result }: Measured, { per }: Scenario): string {
  const { broken, lostEvents, stalls, fault } = result
  const faults = broken + lostEvents + stalls > 0 ? `, ${broken} broken, ${lostEvents} lost, ${stalls} stalls` : ''
  const cost = Number.isNaN(cpuUs) ? '' : `${rounded(cpuUs)} us per ${per}, ${rounded(maxResidentMib)} MiB, `
  return `${cost}whole ${rounded(result.whole.p50)} ms${faults}${fault === undefined ? '' : ` (${fault})`}`
}

/** What a contender writes after its answers, such as bookings, is written at most this much later. */
const afterMs = 1_200
const lookMs = 100

interface Measurement {
  readonly scenario: Scenario
  readonly load: GatewayLoad
  readonly setting: Setting
}

/** JSON goes out from wrk, streams from a program in C that reads when each event was sent: both cost little. */
const send = (endpoint: Endpoint, load: GatewayLoad, { folder }: Setting): Promise<LoadResult> =>
  load.kind === 'json' ? sendJsonLoad(endpoint, load, folder) : sendGatewayLoad(endpoint, load, folder)

async function measure({ pid, endpoint }: Running, { scenario, load, setting }: Measurement): Promise<Measured> {
  const target = endpoint(load.kind)
  if (pid === undefined) {
    const none = { cpuUs: Number.NaN, childrenUs: Number.NaN, residentMib: Number.NaN, maxResidentMib: Number.NaN }
    return { ...none, result: await send(target, load, setting) }
  }
  let maxResidentMib = 0
  const look = (): void => {
    maxResidentMib = Math.max(maxResidentMib, residentMib(pid))
  }
  const timer = setInterval(look, lookMs)
  try {
    const before = await setting.counts()
    const clock = startCpuClock(pid)
    const result = await send(target, load, setting)
    await sleep(afterMs)
    const { wholeUs, childrenUs } = clock()
    look()
    const after = await setting.counts()
    const units = scenario.per === 'event' ? after.events - before.events : after.answers - before.answers
    return {
      cpuUs: wholeUs / units,
      childrenUs: childrenUs / units,
      result,
      residentMib: residentMib(pid),
      maxResidentMib,
    }
  } finally {
    clearInterval(timer)
  }
}
