import type { FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import type { Agent } from '../../contract/agents.ts'
import type { Session } from '../../contract/sessions.ts'
import { createAgents } from '../agents/agents.ts'
import { serveAgents } from '../agents/routes.ts'
import { createRuntimeSupport } from '../agents/runtime-support.ts'
import { agentStore } from '../agents/store.ts'
import type { Audit } from '../audit/audit.ts'
import { secretMarker, withoutSecrets } from '../audit/secret-fields.ts'
import type { Database } from '../db/database.ts'
import type { SessionSecrets } from '../egress/session-secrets.ts'
import { type Caller, masterCaller } from '../http/caller.ts'
import type { AgentMcpCheck } from '../mcp/agents/agent-mcp-check.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import { takesSkillFiles } from '../runtimes/with-skill-files.ts'
import { createAttachments } from '../skills/attachments.ts'
import { serveSkills } from '../skills/routes.ts'
import { createSkills } from '../skills/skills.ts'
import { skillStore } from '../skills/store.ts'
import { serveSkillFolders } from '../skills/versions/routes.ts'
import { skillVersionStore } from '../skills/versions/version-store.ts'
import { createSkillVersions } from '../skills/versions/versions.ts'
import { skillsFor, type WantedSkill } from '../skills/versions/wanted-skills.ts'

interface Needs {
  readonly pool: Pool
  readonly db: Kysely<Database>
  readonly audit: Audit
  readonly runtimes: Pick<RuntimeRegistry, 'find' | 'findings'>
  /** Id of the runtime of agents that do not name one. */
  readonly defaultRuntime: string
  readonly defaultModel: () => string
  readonly resultSchemas: ResultSchemas
  /** Checks the MCP servers of agents. */
  readonly checkMcp: AgentMcpCheck
  /** Returns the newest session of each of these agents that has one. */
  readonly lastSessions: (agentIds: readonly string[]) => Promise<readonly Session[]>
  /** Secrets of `config.network`. */
  readonly sessionSecrets: Pick<SessionSecrets, 'problemOf'>
}

/** Agents, and the skills that are attached to them. */
export function composeAgents(needs: Needs) {
  const { pool, db, audit, runtimes, defaultRuntime, defaultModel, resultSchemas, checkMcp } = needs
  const agentRows = agentStore(db)
  const agents = createAgents({
    store: agentRows,
    defaults: () => ({ model: defaultModel(), runtime: defaultRuntime }),
    isRuntime: async id => (await runtimes.find(id)) !== undefined,
    ownsModels: async id => (await runtimes.find(id))?.hasOwnModels === true,
    runtimeSupport: createRuntimeSupport({ findings: runtimes.findings, resultSchemas, checkMcp }),
    secretProblem: needs.sessionSecrets.problemOf,
    resultSchemas,
    audit,
    secrets: { mask: withoutSecrets, marker: secretMarker },
  })
  const skills = createSkills({ store: skillStore(db), audit })
  const attachments = createAttachments({ skills, agents })
  const versions = createSkillVersions({ store: skillVersionStore(pool), audit })

  return {
    agents,
    agentRows,
    /** Returns the given skills that are in the caller's library, each in its version. */
    skillsFor: (caller: Caller, wanted: readonly WantedSkill[]) => skillsFor(caller, wanted, { skills, versions }),
    serve(app: FastifyInstance) {
      serveAgents(app, { agents, lastSessions: needs.lastSessions })
      const lacksFiles = async (id: string, { harness, owner_id }: Agent, caller: Caller) => {
        const isOfOther = ![masterCaller.principal, owner_id ?? caller.principal].includes(caller.principal)
        const isLacking = isOfOther || !takesSkillFiles(await runtimes.find(harness))
        return isLacking && versions.hasOtherFiles(id, undefined, caller)
      }
      serveSkills(app, { skills, attachments, lacksFiles })
      serveSkillFolders(app, { skills, versions })
    },
  }
}
