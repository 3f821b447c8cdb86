import { availableParallelism, cpus } from 'node:os'
import type { TestEvent } from 'node:test/reporters'
import { setTimeout as delay } from 'node:timers/promises'

/** Files at the same time: one more than cores, because a third of the time of tests is waiting. */
const usualFiles = availableParallelism() + 1
/** With more, time limits of clients expire, also while cores have nothing to do for a moment. */
const mostFiles = usualFiles + 1
const sampleMs = 2_000
/** Share of all cores that waits for work, from which on one more file starts. */
const enoughIdle = 0.3

interface Options {
  readonly files: readonly string[]
  /** Runs one file. */
  readonly eventsOf: (file: string) => AsyncIterable<TestEvent>
  /** Takes the events; those of a test at the top level come together, so that reporters can nest them. */
  readonly take: (event: TestEvent) => void
  readonly signal: AbortSignal
}

/** Runs test files in the given order, as many at the same time as the cores have room for. */
export async function runPool({ files, eventsOf, take, signal }: Options): Promise<void> {
  const waiting = [...files]
  const running = new Set<Promise<void>>()
  const start = (): void => {
    const file = waiting.shift()
    if (file === undefined) return
    const ended = passOn(eventsOf(file), take).finally(() => running.delete(ended))
    running.add(ended)
  }
  const idleShare = createIdleMeter()
  while (waiting.length > 0 && !signal.aborted) {
    while (running.size < usualFiles && waiting.length > 0) start()
    const sampling = new AbortController()
    const sampled = delay(sampleMs, true, { signal: sampling.signal }).catch(() => false)
    const isSampled = await Promise.race([sampled, ...[...running].map(ended => ended.then(() => false))])
    sampling.abort()
    const idle = idleShare()
    if (isSampled && idle > enoughIdle && running.size < mostFiles) start()
  }
  await Promise.all(running)
}

async function passOn(events: AsyncIterable<TestEvent>, take: Options['take']): Promise<void> {
  const together: TestEvent[] = []
  for await (const event of events) {
    together.push(event)
    if (endsTest(event)) for (const each of together.splice(0)) take(each)
  }
  for (const each of together) take(each)
}

const endsTest = ({ type, data }: TestEvent): boolean =>
  (type === 'test:pass' || type === 'test:fail') && data.nesting === 0

/** Returns a function that returns which share of the time since its last call the cores had nothing to do. */
function createIdleMeter(): () => number {
  const read = () => {
    const times = cpus().map(cpu => cpu.times)
    const idle = times.reduce((sum, of) => sum + of.idle, 0)
    return { idle, all: times.reduce((sum, of) => sum + of.user + of.nice + of.sys + of.irq + of.idle, 0) }
  }
  let last = read()
  return () => {
    const now = read()
    const share = (now.idle - last.idle) / Math.max(1, now.all - last.all)
    last = now
    return share
  }
}
