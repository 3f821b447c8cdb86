import assert from 'node:assert/strict'
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import type { Agent } from '../../../src/contract/agents.ts'
import type { Skill } from '../../../src/contract/skills.ts'
import { createAgents } from '../../../src/server/agents/agents.ts'
import { serveAgents } from '../../../src/server/agents/routes.ts'
import { createRuntimeSupport } from '../../../src/server/agents/runtime-support.ts'
import { agentStore } from '../../../src/server/agents/store.ts'
import { createAudit } from '../../../src/server/audit/audit.ts'
import { auditStore } from '../../../src/server/audit/store.ts'
import type { Database } from '../../../src/server/db/database.ts'
import { type Caller, masterCaller } from '../../../src/server/http/caller.ts'
import { createServer } from '../../../src/server/http/server.ts'
import { createLog } from '../../../src/server/platform/log.ts'
import { createAttachments } from '../../../src/server/skills/attachments.ts'
import { serveSkills } from '../../../src/server/skills/routes.ts'
import { createSkills } from '../../../src/server/skills/skills.ts'
import { skillStore } from '../../../src/server/skills/store.ts'
import { serveSkillFolders } from '../../../src/server/skills/versions/routes.ts'
import { skillVersionStore } from '../../../src/server/skills/versions/version-store.ts'
import { createSkillVersions } from '../../../src/server/skills/versions/versions.ts'

const callers = {
  master: masterCaller,
  ana: { principal: 'ana', role: 'user', ownerScope: 'ana', key: undefined },
  bo: { principal: 'bo', role: 'user', ownerScope: 'bo', key: undefined },
  label: { principal: 'key_label', role: 'user', ownerScope: undefined, key: undefined },
} as const satisfies Record<string, Caller>
type Name = keyof typeof callers

interface Attached {
  readonly agent: Agent
  readonly skill?: Skill
}

/** The path of the skills of an agent. */
export const skillPath = ({ id }: { readonly id: string }): string => `/api/v1/managed_agents/agents/${id}/skill`

/** The routes of agents and skills over a database, and short ways to use them; `x-api-key` is the caller's name. */
export function startSkillsApp({ pool, db }: { readonly pool: Pool; readonly db: Kysely<Database> }) {
  const audit = createAudit(auditStore(db))
  const app = createServer({
    authenticate: ({ headers }) => callers[String(headers['x-api-key']) as Name],
    log: createLog('silent'),
  })
  const agents = createAgents({
    store: agentStore(db),
    defaults: () => ({ model: 'demo', runtime: 'builtin' }),
    runtimeSupport: createRuntimeSupport({
      findings: async () => [],
      resultSchemas: { schemaProblem: async () => undefined },
      checkMcp: async () => undefined,
    }),
    isRuntime: async () => true,
    ownsModels: async () => false,
    secretProblem: async () => undefined,
    resultSchemas: { schemaProblem: async () => undefined },
    audit,
    secrets: { mask: fields => fields, marker: '[secret]' },
  })
  const skills = createSkills({ store: skillStore(db), audit })
  serveAgents(app, { agents, lastSessions: async () => [] })
  const versions = createSkillVersions({ store: skillVersionStore(pool), audit })
  const lacksFiles = (id: string, _: Agent, caller: Caller) => versions.hasOtherFiles(id, undefined, caller)
  serveSkills(app, { skills, attachments: createAttachments({ skills, agents }), lacksFiles })
  serveSkillFolders(app, { skills, versions })

  async function call(caller: Name, line: string, payload?: object) {
    const [method, url = ''] = line.split(' ')
    const headers = { 'x-api-key': caller }
    return app.inject({ method: method as 'GET', url, headers, ...(payload && { payload }) })
  }
  async function done<T>(caller: Name, line: string, payload?: object, status = 200): Promise<T> {
    const answer = await call(caller, line, payload)
    assert.equal(answer.statusCode, status, `${line}: ${answer.body}`)
    return answer.body === '' ? (undefined as T) : answer.json()
  }
  return {
    app,
    skills,
    versions,
    call,
    /** The answer, which must be a success. */
    done,
    newSkill: (fields: object = {}, caller: Name = 'ana') =>
      done<Skill>(caller, 'POST /api/v1/skills', { name: 'Terse', content: 'Be terse.', ...fields }, 201),
    newAgent: (system = 'Base.', owner_id = 'ana') =>
      done<Agent>('master', 'POST /api/agents', { name: 'Ada', owner_id, system }, 201),
    attach: (agent: Agent, body: object, caller: Name = 'ana') =>
      done<Attached>(caller, `POST ${skillPath(agent)}`, body),
    detach: (agent: Agent, query = '', caller: Name = 'ana') =>
      done<Attached>(caller, `DELETE ${skillPath(agent)}${query}`),
    /** What the audit log has of an object, in order. */
    async actionsOf(id: string): Promise<string[]> {
      const text = 'select action from audit_log where object_id = $1 order by id'
      return (await pool.query<{ action: string }>(text, [id])).rows.map(({ action }) => action)
    },
  }
}
