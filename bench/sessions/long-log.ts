import { join } from 'node:path'
import { Client } from 'pg'
import { startEmbeddedPostgres } from '../../src/server/db/embedded-postgres.ts'
import { createLog } from '../../src/server/platform/log.ts'
import { open } from '../../test/support/service/send.ts'
import type { BenchCase, Figure } from '../bench-case.ts'
import { createAgent, createSession, succeeded } from '../demo-session.ts'
import { type Server, startServer } from '../server.ts'
import { median } from '../statistics.ts'
import { turnsOf } from './turns.ts'

const lengths = [500, 5_000, 50_000, 200_000]
const looks = 15
const boundMs = 100

/** A log as turns make it: user messages, model answers, and steps around it. */
const fillText = `
  insert into session_events (session_id, seq, id, type, payload, fence)
  select $1, n, 'evt_' || $1 || '_' || n, kind.type, kind.payload::json, 1
  from generate_series($2::int, $3::int) n cross join lateral (
    select case n % 4 when 0 then 'user.message' when 1 then 'agent.message' else 'agent.thinking' end as type,
           case when n % 4 < 2 then '{"content":[{"type":"text","text":"Line ' || n || ' of a long conversation."}]}' else '{}' end as payload
  ) kind`

/** What a session costs its readers, the longer its log is. */
export const longLog: BenchCase = {
  name: 'long-log',
  title: `from the request to the first event of a stream, from either end of logs of ${lengths.map(n => n.toLocaleString('en')).join(', ')} events; medians of ${looks}`,
  async run({ folder, log }) {
    const database = await startEmbeddedPostgres({ dataDir: join(folder, 'database'), log: createLog('silent') })
    const server = await startServer({ dataDir: join(folder, 'data'), env: { DATABASE_URL: database.url } })
    const client = new Client({ connectionString: database.url })
    client.on('error', () => undefined)
    try {
      await client.connect()
      const agentId = await createAgent(server, 'text')
      const figures: Figure[] = []
      for (const length of lengths) {
        const sessionId = await createSession(server, agentId)
        await turnsOf(server, sessionId, 1)
        await fill(client, sessionId, length)
        figures.push(...(await looksAt(server, sessionId, length)))
        const startedAt = performance.now()
        await turnsOf(server, sessionId, 1)
        const bar = { chart: 'first turn of a process in the session (ms)', label: `${length} events` }
        figures.push({ name: `first turn, ${length} events`, value: performance.now() - startedAt, unit: 'ms', bar })
        log(`${length} events measured`)
      }
      return figures
    } finally {
      await client.end()
      await server.stop()
      await database.stop()
    }
  },
}

async function fill(client: Client, sessionId: string, length: number): Promise<void> {
  const { rows } = await client.query<{ last: number }>(
    'select max(seq)::integer as last from session_events where session_id = $1',
    [sessionId],
  )
  const from = (rows[0]?.last ?? 0) + 1
  await client.query(fillText, [sessionId, from, length])
  await client.query('update sessions set next_seq = $2 + 1 where id = $1', [sessionId, length])
  await client.query('vacuum analyze session_events')
}

async function looksAt(server: Server, sessionId: string, length: number): Promise<Figure[]> {
  const path = `/v1/sessions/${sessionId}/events`
  const ways = {
    'stream from the start': () => firstEvent(server, `GET ${path}/stream?after=0`),
    'stream from near the end': () => firstEvent(server, `GET ${path}/stream?after=${length - 5}`),
    'first page of 100': () => succeeded(server, `GET ${path}?limit=100`),
    'last page of 100': () => succeeded(server, `GET ${path}?limit=100&order=desc`),
  }
  const figures: Figure[] = []
  for (const [name, look] of Object.entries(ways)) {
    const times: number[] = []
    for (let at = 0; at < looks; at++) {
      const startedAt = performance.now()
      await look()
      times.push(performance.now() - startedAt)
    }
    const bar = { chart: `${name} (ms)`, label: `${length} events` }
    figures.push({ name: `${name}, ${length} events`, value: median(times), unit: 'ms', target: boundMs, bar })
  }
  return figures
}

async function firstEvent(server: Server, line: string): Promise<void> {
  const response = await open(server, line)
  response.on('error', () => undefined)
  await new Promise<void>((resolve, reject) => {
    response.on('data', (chunk: Buffer) => chunk.includes('"processed_at"') && resolve())
    response.on('end', () => reject(new Error(`${line} ended without an event`)))
  })
  response.destroy()
}
