import { endsRun } from '../../src/contract/events.ts'
import { createSession, sendPrompt, succeeded } from '../demo-session.ts'
import { followSession } from '../event-feed.ts'
import type { Server } from '../server.ts'

export interface Turns {
  readonly agentId: string
  readonly sessions: number
  /** Of each session, one after the other. */
  readonly turns: number
}

/** Runs turns in new sessions at the same time, each followed by a reader. The sessions are spread over the servers. */
export async function runTurns(servers: readonly Server[], { agentId, sessions, turns }: Turns): Promise<void> {
  await Promise.all(
    Array.from({ length: sessions }, async (_, at) => {
      const server = servers[at % servers.length]
      if (!server) throw new Error('there is no server')
      await turnsOf(server, await createSession(server, agentId), turns)
    }),
  )
}

/** Runs turns in one session. */
export async function turnsOf(server: Server, sessionId: string, turns: number): Promise<void> {
  const last = await succeeded(server, `GET /v1/sessions/${sessionId}/events?limit=1&order=desc`)
  const feed = await followSession(server, sessionId, last.json<{ data: { seq: number }[] }>().data[0]?.seq)
  let seen = 0
  for (let turn = 0; turn < turns; turn++) {
    const ended = feed.next(seen, endsRun)
    await sendPrompt(server, sessionId, `Say number ${turn}.`)
    await ended
    seen = feed.arrivals.length
  }
  feed.close()
}
