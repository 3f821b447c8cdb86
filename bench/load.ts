import { join } from 'node:path'
import { endsRun, type SessionEvent } from '../src/contract/events.ts'
import type { BenchCase, Figure, Place } from './bench-case.ts'
import { createAgent, createSession, sendPrompt, succeeded, type Task } from './demo-session.ts'
import { followSession } from './event-feed.ts'
import { faultsOf } from './log-check.ts'
import { cpuTimeUs, residentMib } from './process-figures.ts'
import { type Server, startServer } from './server.ts'

const sessions = 100
const promptsPerSession = 10

/** Many sessions at once: nothing may be lost, doubled or out of order. */
export const load: BenchCase = {
  name: 'load',
  title: `${sessions} sessions with ${promptsPerSession} prompts each on the demo model, all at once, each followed by a reader`,
  async run(place) {
    const figures: Figure[] = []
    for (const task of ['text', 'tool'] as const) figures.push(...(await underLoad(task, place)))
    return figures
  },
}

async function underLoad(task: Task, { folder, log }: Place): Promise<Figure[]> {
  const server = await startServer({ dataDir: join(folder, task) })
  try {
    const agentId = await createAgent(server, task)
    const cpuBefore = cpuTimeUs(server.pid)
    const startedAt = performance.now()
    const faults = (
      await Promise.all(Array.from({ length: sessions }, (_, number) => oneSession(server, agentId, { number, task })))
    ).flat()
    const seconds = (performance.now() - startedAt) / 1_000
    const turns = sessions * promptsPerSession
    for (const fault of new Set(faults)) log(`${task}: ${fault}`)
    const name = task === 'text' ? 'text prompts' : 'prompts with a tool call'
    return [
      { name: `${name}: faults in ${sessions} logs`, value: faults.length, unit: '', target: 0 },
      { name: `${name}: turns a second`, value: turns / seconds, unit: '/s' },
      { name: `${name}: server CPU a turn`, value: (cpuTimeUs(server.pid) - cpuBefore) / turns / 1_000, unit: 'ms' },
      { name: `${name}: server memory after`, value: residentMib(server.pid), unit: 'MiB' },
    ]
  } finally {
    await server.stop()
  }
}

interface Numbered {
  readonly number: number
  readonly task: Task
}

/** Queues all prompts, waits for the last outcome, and checks the log. */
async function oneSession(server: Server, agentId: string, { number, task }: Numbered): Promise<string[]> {
  const sessionId = await createSession(server, agentId)
  const feed = await followSession(server, sessionId)
  const prompts = Array.from({ length: promptsPerSession }, (_, at) => promptText(task, `${number}-${at}`))
  for (const prompt of prompts) await sendPrompt(server, sessionId, prompt)
  let ended = 0
  await feed.next(0, event => endsRun(event) && ++ended === prompts.length)
  feed.close()
  const log = await wholeLog(server, sessionId)
  return faultsOf({ prompts, log, streamed: feed.deliveries.map(({ event }) => event) })
}

const promptText = (task: Task, mark: string): string =>
  task === 'text' ? `Say ${mark}.` : `Create note-${mark}.txt saying "${mark}".`

async function wholeLog(server: Server, sessionId: string): Promise<SessionEvent[]> {
  const answer = await succeeded(server, `GET /v1/sessions/${sessionId}/events?limit=1000`)
  return answer.json<{ data: SessionEvent[] }>().data
}
