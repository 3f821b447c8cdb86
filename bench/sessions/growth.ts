import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchCase, Figure } from '../bench-case.ts'
import { startCpuClock } from '../cpu-clock.ts'
import { createAgent, createSession } from '../demo-session.ts'
import { startServer } from '../server.ts'
import { rounded } from '../statistics.ts'
import { turnsOf } from './turns.ts'

/** Turns before those that are measured. */
const lengths = [10, 100, 1_000, 5_000]
const measuredTurns = 20

/** What the next turn of a session costs, the longer the session is. */
export const growth: BenchCase = {
  name: 'growth',
  title: `CPU of a text turn on the demo model after ${lengths.join(', ')} turns of its session, ${measuredTurns} turns each`,
  async run({ folder, log }) {
    const server = await startServer({ dataDir: join(folder, 'data') })
    try {
      const sessionId = await createSession(server, await createAgent(server, 'text'))
      let done = 0
      const costs: number[] = []
      for (const length of lengths) {
        await turnsOf(server, sessionId, length - done)
        await sleep(500)
        const clock = startCpuClock(server.pid)
        await turnsOf(server, sessionId, measuredTurns)
        costs.push(clock().wholeUs / measuredTurns / 1_000)
        done = length + measuredTurns
        log(`after ${length} turns: ${rounded(costs.at(-1) ?? 0)} ms`)
      }
      return figuresOf(costs)
    } finally {
      await server.stop()
    }
  },
}

function figuresOf(costs: readonly number[]): Figure[] {
  const [first = Number.NaN] = costs
  return [
    ...costs.map((value, at) => {
      const label = `after ${lengths[at]} turns`
      return {
        name: `a turn after ${lengths[at]}`,
        value,
        unit: 'ms CPU',
        bar: { chart: 'CPU of a turn, the longer its session is (ms)', label },
      }
    }),
    {
      name: `a turn after ${lengths.at(-1)} / after ${lengths[0]}`,
      value: (costs.at(-1) ?? Number.NaN) / first,
      unit: '',
      target: 2,
      detail: 'aim 1.3',
    },
  ]
}
