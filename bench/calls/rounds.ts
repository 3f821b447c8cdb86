import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startCpuClock } from '../cpu-clock.ts'
import { residentMib } from '../process-figures.ts'
import { rounded } from '../statistics.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { type Calls, checkAnswer, sendCalls } from '../wrk/wrk.ts'
import { expectedText } from './answers.ts'
import type { Contender, Running } from './contenders.ts'
import type { Scenario } from './scenarios.ts'

/** One slice of load on one contender. */
export interface Sample {
  readonly contender: string
  readonly scenario: string
  /** CPU time per call or event: of the process and all that it started, its database included. */
  readonly cpuUs: number
  /** The part of the processes that it started. */
  readonly childrenUs: number
  readonly callsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of the process alone, after the slice. */
  readonly residentMib: number
}

export interface Setting {
  readonly contenders: readonly Contender[]
  readonly scenarios: readonly Scenario[]
  readonly upstream: Upstream
  /** Holds the body of each scenario, named by its place. */
  readonly folder: string
  readonly rounds: number
  /** Length of a slice. */
  readonly seconds: number
  readonly log: (line: string) => void
}

/** Slices of each contender in a round, and how much longer than a slice each is warmed up. */
const slices = 3
const warmUpFactor = 4

/** Bookings and logs are written at most this much after the answer. */
const settleMs = 1_200

/** The file with the body of a scenario. */
export const bodyFile = (folder: string, at: number): string => join(folder, `body-${at}.json`)

/**
 * Measures every contender in fresh processes each round. All of them run at the same time and take turns: a slice of load
 * on one is followed by a slice on the next, so that a slow spell of the machine hits all of them.
 */
export async function runRounds(setting: Setting): Promise<Sample[]> {
  const samples: Sample[] = []
  for (let round = 1; round <= setting.rounds; round++) {
    const started: Started[] = []
    try {
      for (const contender of setting.contenders) started.push({ contender, running: await contender.start() })
      for (const [at, scenario] of setting.scenarios.entries()) {
        setting.log(`round ${round} of ${setting.rounds}: ${scenario.name}`)
        samples.push(...(await takeTurns(started, { ...setting, scenario, body: bodyFile(setting.folder, at) })))
      }
    } finally {
      for (const { running } of started) await running.stop()
    }
  }
  return samples
}

interface Started {
  readonly contender: Contender
  readonly running: Running
}

interface Turn extends Setting {
  readonly scenario: Scenario
  readonly body: string
}

async function takeTurns(started: readonly Started[], turn: Turn): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const { running } of started) {
    const calls = callsOf(running, turn)
    await checkAnswer(calls, expectedText[turn.scenario.upstream])
    await sendCalls({ ...calls, seconds: calls.seconds * warmUpFactor })
  }
  await sleep(settleMs)
  for (let slice = 0; slice < slices; slice++) {
    for (const each of slice % 2 === 0 ? started : started.toReversed()) samples.push(await measure(each, turn))
  }
  return samples
}

function callsOf(running: Running, { scenario, body, seconds }: Turn): Calls {
  const { connections, minSeconds = 0 } = scenario
  return { ...running.target(scenario), body, connections, seconds: Math.max(seconds, minSeconds) }
}

async function measure({ contender, running }: Started, turn: Turn): Promise<Sample> {
  const { scenario, upstream, log } = turn
  const before = await upstream.counts()
  const clock = startCpuClock(running.pid)
  const answered = await sendCalls(callsOf(running, turn))
  await sleep(settleMs)
  const { wholeUs, childrenUs } = clock()
  const after = await upstream.counts()
  const answers = after.answers - before.answers
  if (answers < answered.calls) {
    throw new Error(`${contender.name}: ${answered.calls} calls were answered, but only ${answers} by the upstream`)
  }
  const units = scenario.per === 'call' ? answers : after.events - before.events
  const cpuUs = wholeUs / units
  log(`  ${contender.name}: ${rounded(cpuUs)} us per ${scenario.per}, ${answered.calls} calls`)
  return {
    contender: contender.name,
    scenario: scenario.name,
    cpuUs,
    childrenUs: childrenUs / units,
    callsPerSecond: answered.calls / (answered.elapsedMs / 1_000),
    p50Ms: answered.p50Ms,
    p99Ms: answered.p99Ms,
    residentMib: residentMib(running.pid),
  }
}
