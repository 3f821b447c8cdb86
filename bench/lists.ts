import { join } from 'node:path'
import { Client } from 'pg'
import { startEmbeddedPostgres } from '../src/server/db/embedded-postgres.ts'
import { createLog } from '../src/server/platform/log.ts'
import type { BenchCase, Figure } from './bench-case.ts'
import { createAgent, succeeded } from './demo-session.ts'
import { type Server, startServer } from './server.ts'
import { percentile } from './statistics.ts'

const sessions = 100_000
const memories = 10_000
const rounds = 50
/** The first calls fill the caches of the database. */
const warmUps = 5

/** One in ten is another owner's, one in a thousand has failed, and one in a thousand waits. */
const fillText = [
  `insert into sessions (id, owner_id, title, agent, agent_id, harness, runtime, environment, last_outcome)
   select 'ses_' || lpad(to_hex(n), 32, '0'), case when n % 10 = 0 then 'ada' else 'bob' end, 'Session ' || n, '',
          'agent_' || n % 100, 'builtin', 'builtin', '{}', case when n % 1000 = 1 then 'failed' else 'completed' end
   from generate_series(1, ${sessions}) n`,
  `insert into prompts (id, session_id, position, parts, model, mode, principal, state)
   select 'msg_' || n, 'ses_' || lpad(to_hex(n), 32, '0'), 1, '[]', 'demo', 'enqueue', 'bob',
          case when n % 1000 = 2 then 'waiting' else 'done' end
   from generate_series(1, ${sessions}) n`,
  `insert into waits (prompt_id, kind, session_id) select id, 'budget', session_id from prompts where state = 'waiting'`,
  'analyze',
]

const lists = [
  'GET /session?limit=50',
  'GET /session?limit=200',
  'GET /session?limit=50&agent_id=agent_7',
  'GET /session?limit=50&status=idle',
  'GET /session?limit=50&status=error',
  'GET /session?limit=50&status=running',
  'GET /session?limit=50&status=pending',
  'GET /api/v1/managed_agents/sessions?limit=50',
]

/** What lists cost when there is a lot to list. */
export const longLists: BenchCase = {
  name: 'lists',
  title: `pages of ${sessions.toLocaleString('en')} sessions, searches in ${memories.toLocaleString('en')} memories of one agent; ${rounds} times each`,
  async run({ folder, log }) {
    const database = await startEmbeddedPostgres({ dataDir: join(folder, 'database'), log: createLog('silent') })
    const env = { DATABASE_URL: database.url, SWITCHYARD_ROLE: 'api' }
    const server = await startServer({ dataDir: join(folder, 'data'), env })
    try {
      const agentId = await createAgent(server, 'text')
      await fill(database.url, agentId)
      log('filled')
      const memory = `GET /api/v1/managed_agents/agents/${agentId}/memory`
      const searches = [`${memory}?q=number+4711&track=false`, `${memory}?q=kind+4711&match=words&track=false`]
      const figures: Figure[] = []
      for (const line of lists) figures.push(await pageOf(server, line, 100))
      for (const line of searches) figures.push(await pageOf(server, line, 50))
      return figures
    } finally {
      await server.stop()
      await database.stop()
    }
  },
}

async function fill(url: string, agentId: string): Promise<void> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  await client.query(
    `insert into memories (id, agent_id, text, folded, tags, type, priority, source, created_by)
     select 'mem_' || n, $1, made.text, lower(made.text), '{}', 'fact', n % 5, 'ui', 'bench'
     from generate_series(1, ${memories}) n,
          lateral (select 'This is the memory number ' || n || ' of its kind, about ' || md5(n::text) as text) made`,
    [agentId],
  )
  for (const text of fillText) await client.query(text)
  await client.end()
}

/** The median and, in the detail, the slowest call. */
async function pageOf(server: Server, line: string, target: number): Promise<Figure> {
  const times: number[] = []
  for (let round = -warmUps; round < rounds; round++) {
    const startedAt = performance.now()
    await succeeded(server, line)
    if (round >= 0) times.push(performance.now() - startedAt)
  }
  const name = line.replace(/agents\/agent_\w+/, 'agents/{agent_id}')
  return {
    name,
    value: percentile(times, 0.5),
    unit: 'ms',
    target,
    detail: `slowest ${Math.max(...times).toFixed(1)} ms`,
  }
}
