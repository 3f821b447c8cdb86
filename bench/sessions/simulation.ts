import { percentile } from '../statistics.ts'

/** One installation, and what a turn costs in it. */
export interface Installation {
  readonly processes: number
  /** Running sessions in each process at a time: a turn begins as soon as the one before has ended. */
  readonly sessionsEach: number
  /** Processor time of a turn, in milliseconds. */
  readonly processMs: number
  readonly databaseMs: number
  readonly databaseCores: number
  /** Commits of a turn that wait for the disk, at least 2. */
  readonly commits: number
  /** Time of one flush, in milliseconds. All commits that wait when it begins share it. */
  readonly flushMs: number
  /** How long a model answers. */
  readonly modelMs: number
}

export interface Simulated {
  readonly turnsPerSecond: number
  /** From the request to the stored prompt, in milliseconds. */
  readonly acceptedP50: number
  readonly acceptedP99: number
  /** Shares of their time, from 0 to 1. */
  readonly processBusy: number
  readonly databaseBusy: number
}

const simulatedMs = 20_000
/** Until the installation is in its stride. */
const warmUpMs = 5_000

/**
 * Plays turns on processes of one core each, a database of some cores and one disk. A turn is as many rounds as it has commits: work of
 * the process, work of the database, a flush; the first one stores the prompt, and the model answers before the last. Service times vary
 * as those of real ones do: exponentially. Not in it: locks, networks, the sizes of conversations.
 */
export function simulate(installation: Installation, random: () => number): Simulated {
  const { processes, sessionsEach, processMs, databaseMs, databaseCores, commits, flushMs, modelMs } = installation
  const clock = createClock()
  const around = (ms: number) => -Math.log(1 - random()) * ms
  const nodes = Array.from({ length: processes }, () => createStation(clock, 1))
  const database = createStation(clock, databaseCores)
  const disk = createDisk(clock, flushMs)
  const accepted: number[] = []
  let turns = 0

  /** Work of the process, then of the database, then a flush. */
  function round(node: Station, then: Then): void {
    const stored = () => database.work(around(databaseMs / commits), () => disk.flush(then))
    node.work(around(processMs / commits), stored)
  }

  function begin(node: Station): void {
    const startedAt = clock.now()
    round(node, () => {
      if (clock.now() > warmUpMs) accepted.push(clock.now() - startedAt)
      goOn(node, 2)
    })
  }

  function goOn(node: Station, number: number): void {
    const isLast = number >= commits
    const next = () => round(node, () => (isLast ? end(node) : goOn(node, number + 1)))
    if (isLast) clock.after(around(modelMs), next)
    else next()
  }

  function end(node: Station): void {
    if (clock.now() > warmUpMs) turns++
    begin(node)
  }

  for (const node of nodes) {
    for (let at = 0; at < sessionsEach; at++) clock.after(random() * modelMs, () => begin(node))
  }
  clock.run(simulatedMs)
  return {
    turnsPerSecond: (turns * 1_000) / (simulatedMs - warmUpMs),
    acceptedP50: percentile(accepted, 0.5),
    acceptedP99: percentile(accepted, 0.99),
    processBusy: nodes.reduce((sum, { busyMs }) => sum + busyMs(), 0) / processes / simulatedMs,
    databaseBusy: database.busyMs() / databaseCores / simulatedMs,
  }
}

type Then = () => void

interface Clock {
  now(): number
  after(ms: number, then: Then): void
  /** Plays everything that happens until then. */
  run(untilMs: number): void
}

/** A heap of what is to come, earliest first. */
function createClock(): Clock {
  const heap: { readonly at: number; readonly then: Then }[] = []
  let now = 0
  const isBefore = (one: number, other: number) => (heap[one]?.at ?? 0) < (heap[other]?.at ?? 0)
  function swap(one: number, other: number): void {
    const [a, b] = [heap[one], heap[other]]
    if (a && b) [heap[one], heap[other]] = [b, a]
  }
  function sinkFirst(): void {
    for (let at = 0; ; ) {
      const left = 2 * at + 1
      const least = left + 1 < heap.length && isBefore(left + 1, left) ? left + 1 : left
      if (least >= heap.length || !isBefore(least, at)) return
      swap(at, least)
      at = least
    }
  }
  return {
    now: () => now,
    after(ms, then) {
      heap.push({ at: now + ms, then })
      for (let at = heap.length - 1; at > 0; ) {
        const parent = (at - 1) >> 1
        if (!isBefore(at, parent)) return
        swap(at, parent)
        at = parent
      }
    },
    run(untilMs) {
      for (let next = heap[0]; next && next.at <= untilMs; next = heap[0]) {
        swap(0, heap.length - 1)
        heap.pop()
        sinkFirst()
        now = next.at
        next.then()
      }
    },
  }
}

interface Station {
  work(ms: number, then: Then): void
  busyMs(): number
}

/** Some cores with one queue. */
function createStation(clock: Clock, cores: number): Station {
  const waiting: (readonly [ms: number, then: Then])[] = []
  let free = cores
  let busy = 0
  function start(ms: number, then: Then): void {
    free--
    busy += ms
    clock.after(ms, () => {
      free++
      const next = waiting.shift()
      if (next) start(...next)
      then()
    })
  }
  return {
    work: (ms, then) => (free > 0 ? start(ms, then) : void waiting.push([ms, then])),
    busyMs: () => busy,
  }
}

/** One flush at a time, for all who wait when it begins. */
function createDisk(clock: Clock, flushMs: number): { flush(then: Then): void } {
  let waiting: Then[] = []
  let isBusy = false
  function start(): void {
    const together = waiting
    waiting = []
    isBusy = true
    clock.after(flushMs, () => {
      isBusy = false
      if (waiting.length > 0) start()
      for (const then of together) then()
    })
  }
  return {
    flush(then) {
      waiting.push(then)
      if (!isBusy) start()
    },
  }
}
