import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchCase, Figure, Place } from '../bench-case.ts'
import { startCpuClock } from '../cpu-clock.ts'
import { createAgent, createSession, sendPrompt } from '../demo-session.ts'
import { residentMib } from '../process-figures.ts'
import { type Server, startServer } from '../server.ts'
import { rounded } from '../statistics.ts'
import { openReaders, type Received } from './reader-program.ts'

interface Scene {
  readonly sessions: number
  readonly readers: number
  /** Prompts a second over all sessions. */
  readonly prompts: number
}

const seconds = 15
/** What the last prompts say arrives before the readers are closed. */
const restMs = 3_000

/** What a scene has cost. */
interface Cost {
  readonly received: Received
  readonly connectedMs: number
  readonly memoryMib: number
  readonly cpuUs: number
}

/** Runs prompts at a steady rate with readers at the streams, and without any. */
async function play({ folder, log }: Place, { sessions, readers, prompts }: Scene): Promise<Cost> {
  const config = JSON.stringify({ limits: { max_streams: readers + 100 } })
  const server = await startServer({ dataDir: join(folder, `data-${readers}`), config })
  try {
    const agentId = await createAgent(server, 'text')
    const ids: string[] = []
    for (let at = 0; at < sessions; at++) ids.push(await createSession(server, agentId))
    await promptAll(server, ids, { prompts, forMs: 3_000 })
    const quiet = await cpuOf(server, () => promptAll(server, ids, { prompts, forMs: 5_000 }))
    const opened = await openReaders(server, { folder, sessions: ids, readers, seconds })
    log(`${readers} readers open after ${opened.connectedMs} ms`)
    const forMs = seconds * 1_000 - restMs
    const loud = await cpuOf(server, async () => {
      await promptAll(server, ids, { prompts, forMs })
      await opened.received
    })
    const received = await opened.received
    const cpuUs = (loud - (quiet * forMs) / 5_000) / received.frames
    log(`${received.frames} frames, p99 ${received.p99Ms} ms, ${rounded(cpuUs)} us each`)
    return { received, connectedMs: opened.connectedMs, memoryMib: residentMib(server.pid), cpuUs }
  } finally {
    await server.stop()
  }
}

async function cpuOf(server: Server, work: () => Promise<unknown>): Promise<number> {
  const clock = startCpuClock(server.pid)
  await work()
  return clock().wholeUs
}

async function promptAll(
  server: Server,
  ids: readonly string[],
  { prompts, forMs }: { readonly prompts: number; readonly forMs: number },
): Promise<void> {
  const sent: Promise<void>[] = []
  const startedAt = performance.now()
  for (let at = 0; (at / prompts) * 1_000 < forMs; at++) {
    const id = ids[at % ids.length] ?? ''
    sent.push(sendPrompt(server, id, `Say number ${at}.`))
    await sleep(Math.max(0, startedAt + ((at + 1) / prompts) * 1_000 - performance.now()))
  }
  await Promise.all(sent)
}

const figuresOf = ({ readers }: Scene, { received, connectedMs, memoryMib, cpuUs }: Cost): Figure[] => [
  {
    name: `CPU of a delivery, ${readers} readers`,
    value: cpuUs,
    unit: 'us',
    bar: { chart: 'CPU of a delivery to a reader (us)', label: `${readers} readers` },
  },
  { name: `p50, ${readers} readers`, value: received.p50Ms, unit: 'ms' },
  { name: `p99, ${readers} readers`, value: received.p99Ms, unit: 'ms' },
  { name: `readers that got nothing, of ${readers}`, value: readers - received.readers, unit: '' },
  { name: `readers that were cut, of ${readers}`, value: received.cut, unit: '' },
  { name: `memory, ${readers} readers`, value: memoryMib, unit: 'MiB' },
  { name: `all ${readers} connected`, value: connectedMs, unit: 'ms' },
]

const withTargets = (figures: readonly Figure[], targets: Readonly<Record<string, number>>): Figure[] =>
  figures.map(figure => {
    const target = Object.entries(targets).find(([start]) => figure.name.startsWith(start))?.[1]
    return target === undefined ? figure : { ...figure, target }
  })

/** What a reader costs, of one session and of many. */
export const readers: readonly BenchCase[] = [
  {
    name: 'one-session',
    title: 'readers of one session, 10 prompts a second; a program in C reads',
    async run(place) {
      const figures: Figure[] = []
      for (const count of [10, 100, 1_000]) {
        const scene = { sessions: 1, readers: count, prompts: 10 }
        const targets = count === 1_000 ? { 'CPU of a delivery': 25, 'readers that': 0 } : {}
        figures.push(...withTargets(figuresOf(scene, await play(place, scene)), targets))
      }
      return figures
    },
  },
  {
    name: 'many-sessions',
    title: '10,000 readers of 1,000 sessions, about 1,000 events and 10,000 frames a second; a program in C reads',
    async run(place) {
      const scene = { sessions: 1_000, readers: 10_000, prompts: 170 }
      const targets = { p99: 1_000, memory: 600, 'readers that': 0, all: 20_000 }
      return withTargets(figuresOf(scene, await play(place, scene)), targets)
    },
  },
]
