import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startCursorFake } from '../test/support/cursor/cursor-fake.ts'
import { startManagedAgentsFake } from '../test/support/managed-agents/managed-agents-fake.ts'
import { startOpencodeFake } from '../test/support/opencode/opencode-fake.ts'
import type { BenchCase, Figure } from './bench-case.ts'
import { sendPrompt, succeeded } from './demo-session.ts'
import { followSession } from './event-feed.ts'
import { type Server, startServer } from './server.ts'
import { percentile } from './statistics.ts'

const count = 150
const warmUps = 20
const pauseMs = 20

/** A foreign runtime, played in this process, so that one clock sees both ends. */
interface Played {
  readonly name: string
  readonly url: string
  /** Makes it known to the service; the name that sessions use. */
  register(server: Server): Promise<string>
  /** Lets the next event out. */
  release(): void
  stop(): Promise<unknown>
}

/** When the event of each number left the runtime, by `performance.now()`. */
class Departures {
  readonly #atMs = new Map<number, number>()

  /** The word by which a reader knows the event; its first use is the departure. */
  word(number: number): string {
    if (!this.#atMs.has(number)) this.#atMs.set(number, performance.now())
    return `n${number}.`
  }

  at(number: number): number {
    return this.#atMs.get(number) ?? Number.NaN
  }
}

const numbers = Array.from({ length: count }, (_, at) => at)

const key = 'key-of-the-bench'

async function connect(server: Server, runtime: string, url: string): Promise<string> {
  await succeeded(server, `PUT /api/agent-runtimes/${runtime}/credentials`, { api_key: key, api_base: url })
  return runtime
}

async function playCursor(departures: Departures): Promise<Played> {
  const call = (at: number) => ({ callId: `call_${at}`, name: 'shell' })
  const fake = await startCursorFake({
    key,
    script: () => [
      ...numbers.flatMap(at => [
        { event: 'tool_call', data: { ...call(at), status: 'running', args: { command: 'ls' } } },
        { hold: true } as const,
        {
          event: 'tool_call',
          get data() {
            return { ...call(at), status: 'completed', result: departures.word(at) }
          },
        },
      ]),
      { end: { text: 'Done.' } },
    ],
  })
  return {
    name: 'cursor',
    url: fake.url,
    register: server => connect(server, 'cursor', fake.url),
    release: () => fake.runs.at(-1)?.release(),
    stop: () => fake.stop(),
  }
}

async function playManagedAgents(departures: Departures): Promise<Played> {
  let go: () => void = () => undefined
  const next = () => new Promise<void>(resolve => (go = resolve))
  const fake = await startManagedAgentsFake({
    apiKey: key,
    script: () =>
      numbers.flatMap(at => [
        {
          get until() {
            return next()
          },
        },
        {
          get say() {
            return departures.word(at)
          },
        },
      ]),
  })
  return {
    name: 'claude_managed_agents',
    url: fake.url,
    register: server => connect(server, 'claude_managed_agents', fake.url),
    release: () => go(),
    stop: () => fake.stop(),
  }
}

async function playOpencode(departures: Departures): Promise<Played> {
  const step = (at: number) => ({
    hold: 'before' as const,
    get text() {
      return [departures.word(at)]
    },
  })
  const fake = await startOpencodeFake({ turns: [numbers.map(step)], password: key })
  return {
    name: 'opencode',
    url: fake.url,
    async register(server) {
      const body = { alias: 'desk', api_spec: 'opencode', api_base: fake.url, api_key: key }
      await succeeded(server, 'POST /api/runtime-harnesses', body)
      return 'desk'
    },
    release: () => fake.release(),
    stop: () => fake.stop(),
  }
}

/** How late a reader of ours sees the output of a foreign runtime. */
export const foreignEvents: BenchCase = {
  name: 'foreign-events',
  title: `from an event of a foreign runtime to an open stream of ours; ${count} events each, every ${pauseMs} ms`,
  async run({ folder }) {
    const figures: Figure[] = []
    for (const play of [playCursor, playManagedAgents, playOpencode]) {
      const departures = new Departures()
      const played = await play(departures)
      const config = JSON.stringify({ outbound: { allow: [new URL(played.url).host] } })
      const server = await startServer({ dataDir: join(folder, played.name), config })
      try {
        figures.push(...figuresOf(played.name, await delays(server, played, departures)))
      } finally {
        await server.stop()
        await played.stop()
      }
    }
    return figures
  },
}

async function delays(server: Server, played: Played, departures: Departures): Promise<number[]> {
  const runtime = await played.register(server)
  const { id } = (await succeeded(server, 'POST /session', { runtime })).json<{ id: string }>()
  const feed = await followSession(server, id)
  await sendPrompt(server, id, 'Tell me all.')
  const measured: number[] = []
  for (const at of numbers) {
    const arrival = feed.next(0, ({ content }) => JSON.stringify(content ?? '').includes(`n${at}.`))
    while (Number.isNaN(departures.at(at))) {
      played.release()
      await sleep(pauseMs)
    }
    measured.push((await arrival).atMs - departures.at(at))
  }
  feed.close()
  return measured.slice(warmUps)
}

const figuresOf = (name: string, measured: readonly number[]): Figure[] => [
  { name: `${name}, p50`, value: percentile(measured, 0.5), unit: 'ms', target: 50 },
  { name: `${name}, p99`, value: percentile(measured, 0.99), unit: 'ms' },
]
