import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endsRun } from '../src/contract/events.ts'
import type { BenchCase, Figure } from './bench-case.ts'
import { createAgent, createSession, sendPrompt } from './demo-session.ts'
import { type EventFeed, followSession } from './event-feed.ts'
import { type Server, startServer } from './server.ts'
import { percentile } from './statistics.ts'

const sessions = 20
const promptsPerSession = 10
const warmUps = 10
const pauseMs = 20

/** How soon work on a prompt shows, on a server that has nothing else to do. */
export const pickUp: BenchCase = {
  name: 'pick-up',
  title: `from the 204 of a prompt to its events on an open stream; ${sessions * promptsPerSession} prompts, one by one`,
  async run({ folder }) {
    const server = await startServer({ dataDir: join(folder, 'data') })
    try {
      const agentId = await createAgent(server, 'text')
      const samples: Sample[] = []
      for (let at = 0; at < sessions; at++) samples.push(...(await inOneSession(server, agentId)))
      return figuresOf(samples.slice(warmUps))
    } finally {
      await server.stop()
    }
  },
}

/** Milliseconds after the 204; an event that came before it counts as 0. */
interface Sample {
  readonly firstMs: number
  readonly runningMs: number
  readonly endMs: number
  /** From the request to its 204. */
  readonly acceptMs: number
}

async function inOneSession(server: Server, agentId: string): Promise<Sample[]> {
  const sessionId = await createSession(server, agentId)
  const feed = await followSession(server, sessionId)
  const samples: Sample[] = []
  for (let at = 0; at < promptsPerSession; at++) {
    samples.push(await onePrompt(server, sessionId, feed))
    await sleep(pauseMs)
  }
  feed.close()
  return samples
}

async function onePrompt(server: Server, sessionId: string, feed: EventFeed): Promise<Sample> {
  const from = feed.deliveries.length
  const first = feed.next(from, () => true)
  const running = feed.next(from, ({ type }) => type === 'session.status_running')
  const end = feed.next(from, endsRun)
  const sentAt = performance.now()
  await sendPrompt(server, sessionId, 'Say something.')
  const acceptedAt = performance.now()
  const after = async (arrival: typeof first) => Math.max(0, (await arrival).atMs - acceptedAt)
  return {
    firstMs: await after(first),
    runningMs: await after(running),
    endMs: await after(end),
    acceptMs: acceptedAt - sentAt,
  }
}

function figuresOf(samples: readonly Sample[]): Figure[] {
  const values = (field: keyof Sample) => samples.map(sample => sample[field])
  const figure = (name: string, field: keyof Sample, targets: readonly [number?, number?]): Figure[] =>
    ([0.5, 0.99] as const).map((p, at) => ({
      name: `${name}, p${p * 100}`,
      value: percentile(values(field), p),
      unit: 'ms',
      ...(targets[at] !== undefined && { target: targets[at] }),
    }))
  return [
    ...figure('204 to the first event', 'firstMs', [20, 100]),
    ...figure('204 to session.status_running', 'runningMs', [20, 100]),
    // A wake-up that gets lost shows here alone: a sweep or the end of a lease makes up for it, seconds later.
    {
      name: '204 to session.status_running, longest',
      value: Math.max(...values('runningMs')),
      unit: 'ms',
      target: 1_000,
    },
    ...figure('204 to the end of the run', 'endMs', []),
    ...figure('request to 204', 'acceptMs', []),
  ]
}
