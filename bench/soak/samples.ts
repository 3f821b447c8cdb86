import { readdirSync } from 'node:fs'
import type { Figure } from '../bench-case.ts'
import type { Inside, insideCounter } from '../inside.ts'
import { residentMib } from '../process-figures.ts'
import type { Server } from '../server.ts'
import { median, rounded } from '../statistics.ts'

const sampleMs = 15_000

interface Sample extends Inside {
  readonly residentMib: number
  readonly descriptors: number
}

/** Takes samples of a process until it is stopped. */
export interface Sampler {
  stop(): Promise<readonly Sample[]>
}

/** Starts to sample; `log` gets a line each minute. */
export function startSampler(
  { pid }: Server,
  counter: ReturnType<typeof insideCounter>,
  log: (line: string) => void,
): Sampler {
  const samples: Sample[] = []
  let taking: Promise<void> = Promise.resolve()
  async function take(): Promise<void> {
    const inside = await counter.read(pid)
    const sample = { ...inside, residentMib: residentMib(pid), descriptors: readdirSync(`/proc/${pid}/fd`).length }
    samples.push(sample)
    if (samples.length % 4 === 0) log(`${samples.length / 4} min: ${textOf(sample)}`)
  }
  const timer = setInterval(() => {
    taking = taking.then(take)
  }, sampleMs)
  return {
    async stop() {
      clearInterval(timer)
      await taking
      return samples
    },
  }
}

const textOf = ({ residentMib: resident, heapBytes, descriptors, timers }: Sample): string =>
  `${rounded(resident)} MiB, heap ${rounded(heapBytes / 2 ** 20)} MiB, ${descriptors} descriptors, ${timers} timers`

/** Compares the last fifth with the second one, when everything is warm: of 30 minutes, 24 to 30 with 6 to 12. */
export function growthFigures(samples: readonly Sample[]): Figure[] {
  const fifth = (from: number, to: number): readonly Sample[] =>
    samples.slice(Math.floor(samples.length * from), Math.ceil(samples.length * to))
  const [early, late] = [fifth(0.2, 0.4), fifth(0.8, 1)]
  const growth = (name: string, take: (sample: Sample) => number, target: number): Figure => {
    const [before, after] = [median(early.map(take)), median(late.map(take))]
    const detail = `${rounded(after)} / ${rounded(before)}; most ${rounded(Math.max(...samples.map(take)))}`
    return { name: `${name}, end / beginning`, value: after / before, unit: '', target, detail }
  }
  return [
    growth('resident memory (MiB)', sample => sample.residentMib, 1.1),
    growth('memory after a collection of garbage (MiB)', sample => sample.heapBytes / 2 ** 20, 1.1),
    growth('descriptors', sample => sample.descriptors, 1.1),
    growth('timers', sample => sample.timers, 1.1),
  ]
}
