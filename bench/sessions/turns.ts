import { endsRun } from '../../src/contract/events.ts'
import type { Target } from '../../test/support/service/send.ts'
import { createSession, sendPrompt, succeeded } from '../demo-session.ts'
import { followSession } from '../event-feed.ts'
import type { Server } from '../server.ts'

/** Makes sessions. */
export const newSessions = (server: Server, agentId: string, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => createSession(server, agentId)))

/** Runs turns in all sessions at the same time, each followed by a reader. The sessions are spread over the servers. */
export async function runTurns(servers: readonly Server[], sessions: readonly string[], turns: number): Promise<void> {
  await Promise.all(
    sessions.map(async (id, at) => {
      const server = servers[at % servers.length]
      if (!server) throw new Error('there is no server')
      await turnsOf(server, id, turns)
    }),
  )
}

/** Runs turns in one session. */
export async function turnsOf(server: Server, sessionId: string, turns: number): Promise<void> {
  const feed = await followSession(server, sessionId, await lastSeq(server, sessionId))
  let seen = 0
  for (let turn = 0; turn < turns; turn++) {
    const ended = feed.next(seen, endsRun)
    // It is awaited only after the request, which may take longer.
    ended.catch(() => undefined)
    await sendPrompt(server, sessionId, `Say number ${turn}.`)
    await ended
    seen = feed.deliveries.length
  }
  feed.close()
}

/** The number of the newest event. */
export async function lastSeq(server: Target, sessionId: string): Promise<number> {
  const page = await succeeded(server, `GET /v1/sessions/${sessionId}/events?limit=1&order=desc`)
  return page.json<{ data: { seq: number }[] }>().data[0]?.seq ?? 0
}
