import assert from 'node:assert/strict'
import type { Memory } from '../../../src/contract/memories.ts'
import { createAudit } from '../../../src/server/audit/audit.ts'
import { auditStore } from '../../../src/server/audit/store.ts'
import { type Caller, masterCaller } from '../../../src/server/http/caller.ts'
import { createServer } from '../../../src/server/http/server.ts'
import { createMemories } from '../../../src/server/memories/memories.ts'
import { serveMemories, serveMemoryMcp } from '../../../src/server/memories/routes.ts'
import { createSessionMemories } from '../../../src/server/memories/session-memories.ts'
import { sessionMemoryStore } from '../../../src/server/memories/session-store.ts'
import { memoryStore } from '../../../src/server/memories/store.ts'
import { createLog } from '../../../src/server/platform/log.ts'
import { freshDatabase } from '../service/database.ts'

type Query = Readonly<Record<string, string>>

const ownedBy = (owner: string): Caller => ({ principal: owner, role: 'user', ownerScope: owner, key: undefined })

/** A program of a session `ses_1` of that agent, queued with a key of ada's. */
const programOf = (agentId: string): Caller => {
  const run = { session_id: 'ses_1', agent_id: agentId, owner_id: 'ada', prompt_id: 'msg_1', run_id: 'run_1' }
  const behalf = {
    run,
    memoryTools: ['save_memory'],
    mcpServers: [],
    mayCall: () => false,
    onRejected: () => undefined,
  }
  return {
    ...ownedBy('ada'),
    key: { id: 'key_1', models: [], isLimited: false, isNarrow: false, expires: false },
    behalf,
  }
}

/** Where the interface has the memories of an agent. */
export const baseOf = (agent: string): string => `/api/v1/managed_agents/agents/${agent}/memory`

/**
 * The routes of memories over a fresh database, and short ways to use them. `x-api-key` names the caller's owner, `x-viewer-of` that
 * of a viewer, `x-program-of` an agent.
 */
export async function startMemoriesApp() {
  const { pool, db } = await freshDatabase()
  const audit = createAudit(auditStore(db))
  const store = memoryStore(pool)
  const sessionMemories = createSessionMemories({ store, sessionRows: sessionMemoryStore(pool), audit })
  const app = createServer({
    authenticate({ headers }) {
      const owner = headers['x-api-key']
      const agent = headers['x-program-of']
      const viewed = headers['x-viewer-of']
      if (viewed !== undefined) return { ...ownedBy(String(viewed)), role: 'viewer' }
      if (agent !== undefined) return programOf(String(agent))
      return owner === undefined ? masterCaller : ownedBy(String(owner))
    },
    log: createLog('silent'),
  })
  const memories = createMemories({ store, sessionMemories, audit })
  serveMemories(app, { memories })
  serveMemoryMcp(app, { memories, log: createLog('silent') })
  let agents = 0

  async function call(line: string, payload?: object, owner?: string, others: Query = {}) {
    const [method, url = ''] = line.split(' ')
    const headers = { ...others, ...(owner !== undefined && { 'x-api-key': owner }) }
    return app.inject({ method: method as 'GET', url, headers, ...(payload && { payload }) })
  }
  async function find(agent: string, query: Query = {}): Promise<Memory[]> {
    const answer = await call(`GET ${baseOf(agent)}?${new URLSearchParams(query)}`)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  return {
    pool,
    sessionMemories,
    call,
    find,
    texts: async (agent: string, query?: Query) => (await find(agent, query)).map(({ text }) => text),
    /** Stores an agent of this owner; its id. */
    async newAgent(owner = 'ada'): Promise<string> {
      const id = `agent_${++agents}`
      await pool.query(
        `insert into agents (id, owner_id, name, model, system, harness, tools, config)
         values ($1, $2, 'A', 'demo', '', 'builtin', '{}', '{}')`,
        [id, owner],
      )
      return id
    },
    async add(agent: string, body: object): Promise<Memory> {
      const answer = await call(`POST ${baseOf(agent)}`, body)
      assert.equal(answer.statusCode, 200, answer.body)
      return answer.json()
    },
    change: (agent: string, id: string, body: object) => call(`PATCH ${baseOf(agent)}/${id}`, body),
  }
}
