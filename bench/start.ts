import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchCase, Figure, Place } from './bench-case.ts'
import { commandLine, processTree, proportionalMib, residentMib } from './process-figures.ts'
import { startServer } from './server.ts'
import { median, rounded } from './statistics.ts'

const rounds = 3
const settleMs = 10_000

/** How long `npm start` takes, and what an idle service weighs. */
export const start: BenchCase = {
  name: 'start',
  title: `npm start with the packages installed, to the first "ready"; ${rounds} rounds`,
  async run(place) {
    // A separate cache: the first start has nothing to go by, as on a fresh machine.
    const env = { NODE_COMPILE_CACHE: join(place.folder, 'compile-cache') }
    const first = await startOnce(place, { dataDir: join(place.folder, 'first'), env })
    const cold: Started[] = []
    const warm: Started[] = []
    for (let at = 0; at < rounds; at++) {
      const options = { dataDir: join(place.folder, `data-${at}`), env }
      cold.push(await startOnce(place, options))
      warm.push(await startOnce(place, { ...options, settleMs: at === rounds - 1 ? settleMs : 0 }))
    }
    const idle = warm.at(-1)
    return [
      { name: 'first start ever', value: first.startMs, unit: 'ms', detail: 'nothing compiled yet' },
      timeFigure('start, empty data folder', cold, 3_000),
      timeFigure('start, same folder again', warm, 1_500),
      { name: 'server memory, idle', value: idle?.serverMib ?? Number.NaN, unit: 'MiB', target: 150, detail: 'RSS' },
      {
        name: 'database memory, idle',
        value: idle?.databaseMib ?? Number.NaN,
        unit: 'MiB',
        target: 100,
        detail: `PSS of ${idle?.databaseProcesses} processes`,
      },
    ]
  },
}

interface Started {
  readonly startMs: number
  readonly serverMib: number
  readonly databaseMib: number
  readonly databaseProcesses: number
}

interface Options {
  readonly dataDir: string
  readonly env: Readonly<Record<string, string>>
  /** How long to wait before the memory is read. */
  readonly settleMs?: number
}

async function startOnce({ log }: Place, { dataDir, env, settleMs = 0 }: Options): Promise<Started> {
  const server = await startServer({ dataDir, env })
  try {
    await sleep(settleMs)
    const database = processTree(server.pid).filter(pid => commandLine(pid)[0]?.includes('postgres'))
    const started = {
      startMs: server.startMs,
      serverMib: residentMib(server.pid),
      databaseMib: proportionalMib(database),
      databaseProcesses: database.length,
    }
    log(`ready after ${rounded(started.startMs)} ms; ${rounded(started.serverMib)} MiB`)
    return started
  } finally {
    await server.stop()
  }
}

function timeFigure(name: string, starts: readonly Started[], target: number): Figure {
  const times = starts.map(({ startMs }) => startMs)
  return { name, value: median(times), unit: 'ms', target, detail: `least ${rounded(Math.min(...times))}` }
}
