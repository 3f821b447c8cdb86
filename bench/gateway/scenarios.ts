import type { Contender, Mode, Program } from './contenders.ts'
import type { GatewayLoad } from './gateway-load.ts'
import type { ScenarioName } from './scenario-name.ts'

/** One measurement of every contender it fits. */
export interface Scenario {
  readonly name: ScenarioName
  readonly title: string
  readonly load: GatewayLoad
  /** What the CPU time is divided by. */
  readonly per: 'request' | 'event'
  readonly modes: readonly Mode[]
  /** True: a contender serves it in a process that has done nothing else before. */
  readonly isAlone?: boolean
  /** True: its times are compared with those without anything in between. */
  readonly isTimed?: boolean
}

const smallBytes = 2_500
const both: readonly Mode[] = ['passthrough', 'translation']

/** In the order in which a process serves them. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'json',
    title: 'JSON, 2.5 KB in, 1 KB out, 64 connections',
    load: { kind: 'json', bodyBytes: smallBytes, connections: 64, durationMs: 6_000 },
    per: 'request',
    modes: both,
  },
  {
    name: 'one json',
    title: 'JSON, 2.5 KB in, one client',
    load: { kind: 'json', bodyBytes: smallBytes, connections: 1, durationMs: 2_000 },
    per: 'request',
    modes: both,
    isTimed: true,
  },
  {
    name: 'one stream',
    title: 'stream that begins at once and goes on after 20 ms, one client',
    load: { kind: 'prompt', bodyBytes: smallBytes, connections: 1, calls: 300 },
    per: 'request',
    modes: both,
    isTimed: true,
  },
  {
    name: 'one large',
    title: 'JSON, 400 KB in, one client',
    load: { kind: 'json', bodyBytes: 400_000, connections: 1, durationMs: 2_000 },
    per: 'request',
    modes: ['passthrough'],
    isTimed: true,
  },
  {
    name: 'large',
    title: 'JSON, 305 KB in, 64 connections',
    load: { kind: 'json', bodyBytes: 305_000, connections: 64, durationMs: 4_000 },
    per: 'request',
    modes: ['passthrough'],
  },
  {
    name: 'burst',
    title: 'streams of 100 events without pauses, 16 at a time',
    load: { kind: 'burst', bodyBytes: smallBytes, connections: 16, calls: 600 },
    per: 'event',
    modes: both,
  },
  {
    name: 'paced',
    title: 'streams of 100 events 20 ms apart, 500 at a time',
    load: { kind: 'paced', bodyBytes: smallBytes, connections: 500, calls: 1_000, rampMs: 500 },
    per: 'event',
    modes: both,
    isTimed: true,
  },
  {
    name: 'streams',
    title: 'streams of 100 events 20 ms apart, 2,000 at a time; the limits of Switchyard are raised',
    load: { kind: 'paced', bodyBytes: smallBytes, connections: 2_000, calls: 2_000, rampMs: 1_000 },
    per: 'event',
    modes: both,
    isAlone: true,
  },
]

/** How often every contender is measured: three rounds are what figures need, one shows that everything works. */
export const roundsOf = { full: 3, quick: 1 } as const
export type Effort = keyof typeof roundsOf

const latencyOnly: Program = 'direct'

/** True when the contender takes part: nothing in between costs no CPU time, so it is only a clock for the others. */
export const fits = ({ program, mode, only }: Contender, { name, modes, isTimed = false }: Scenario): boolean =>
  modes.includes(mode) && (only?.includes(name) ?? true) && (program !== latencyOnly || isTimed)

/**
 * The scenario's load for one contender: as many connections, and its share of the calls. JSON is sent for a time, and
 * streams with pauses take their time whoever relays them: all of them together are the load.
 */
export function loadFor({ load }: Pick<Scenario, 'load'>, { share }: Pick<Contender, 'share'>): GatewayLoad {
  if (load.kind === 'paced' || 'durationMs' in load) return load
  return { ...load, calls: Math.max(load.connections, Math.round(load.calls * share)) }
}

/** Enough that the engine has compiled for good what it will run; before, ratios say little. */
export const warmUps: readonly Pick<Scenario, 'load'>[] = [
  { load: { kind: 'json', bodyBytes: smallBytes, connections: 64, durationMs: 12_000 } },
  { load: { kind: 'burst', bodyBytes: smallBytes, connections: 16, calls: 300 } },
]
