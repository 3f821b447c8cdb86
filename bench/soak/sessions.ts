import { setTimeout as sleep } from 'node:timers/promises'
import { open } from '../../test/support/service/send.ts'
import { createAgent, createSession, sendPrompt, succeeded } from '../demo-session.ts'
import type { Server } from '../server.ts'
import { turnsOf } from '../sessions/turns.ts'

const lanes = 6
/** Between two sessions of a lane. */
const pauseMs = 500

/** What the sessions brought. */
export interface SessionsOutcome {
  readonly sessions: number
  readonly turns: number
  readonly faults: readonly string[]
}

/** Creates sessions, runs prompts with and without tools in them, leaves readers in the middle, interrupts, forks and deletes. */
export async function runSessions(server: Server, durationMs: number): Promise<SessionsOutcome> {
  const endsAt = performance.now() + durationMs
  const agents = [await createAgent(server, 'text'), await createAgent(server, 'tool')] as const
  let sessions = 0
  let turns = 0
  const faults: string[] = []
  async function lane(first: number): Promise<void> {
    for (let round = first; performance.now() < endsAt; round++) {
      try {
        const ran = await oneSession(server, agents[round % 2] ?? agents[0], round)
        turns += ran
        sessions++
      } catch (error) {
        faults.push(String(error))
      }
      await sleep(pauseMs)
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, at) => lane(at)))
  return { sessions, turns, faults }
}

/** Returns how many turns it ran. */
async function oneSession(server: Server, agentId: string, round: number): Promise<number> {
  const id = await createSession(server, agentId)
  await turnsOf(server, id, 3)
  if (round % 3 === 0) {
    const reader = await open(server, `GET /v1/sessions/${id}/events/stream`)
    await sendPrompt(server, id, 'Say more.')
    reader.destroy()
    await succeeded(server, `POST /session/${id}/abort`)
  }
  await succeeded(server, 'GET /v1/sessions?limit=50')
  await succeeded(server, `DELETE /session/${id}`)
  return 3
}

/** Reads the metrics as Prometheus does, and the pages that a console polls. Returns how many requests failed. */
export async function watch(server: Server, durationMs: number): Promise<number> {
  const endsAt = performance.now() + durationMs
  let failed = 0
  while (performance.now() < endsAt) {
    for (const path of ['/metrics', '/api/usage', '/health/ready']) {
      await succeeded(server, `GET ${path}`).catch(() => {
        failed++
      })
    }
    await sleep(5_000)
  }
  return failed
}
