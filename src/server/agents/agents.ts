import type { Agent, AgentStatus, AgentVersion, AgentWrite } from '../../contract/agents.ts'
import type { Audit } from '../audit/audit.ts'
import type { Actor, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { publicFields } from './audited.ts'
import { type AgentDefaults, applyWrite, newAgentFields } from './fields.ts'
import type { AgentStore, OnChange, PageOf } from './store.ts'

interface Deps {
  readonly store: AgentStore
  readonly defaults: () => AgentDefaults
  /** True for a built-in runtime and a registered harness. */
  readonly isRuntime: (id: string) => boolean
  readonly audit: Audit
}

/** Who asks for a change: what they may see, and what the audit log says of them. */
interface By {
  readonly caller: Caller
  readonly actor: Actor
}

/** The rules of agents: who may touch which, what a write changes, and what is refused. */
export type Agents = ReturnType<typeof createAgents>

export function createAgents({ store, defaults, isRuntime, audit }: Deps) {
  const recorded =
    (action: string, actor: Actor): OnChange =>
    (sql, before, after) => {
      const { id = '', owner_id = null } = after ?? before ?? {}
      const fields = { before: before && publicFields(before), after: after && publicFields(after) }
      return audit.record(sql, { actor, action: `agent.${action}`, objectId: id, ownerId: owner_id, ...fields })
    }

  async function change(action: string, which: By & { id: string }, edit: (agent: Agent) => Agent): Promise<Agent> {
    const { id, caller, actor } = which
    const apply = (agent: Agent) => {
      const { owner_id, ...fields } = edit(agent)
      return { ...fields, owner_id: owner_id ?? '' }
    }
    const changed = await store.update({ id, owner: caller.ownerScope }, apply, recorded(action, actor))
    if (!changed) throw notFound('agent', id)
    return changed
  }

  function checkWrite(write: AgentWrite, caller: Caller): void {
    if (caller.ownerScope !== undefined && write.owner_id !== caller.ownerScope)
      throw new AppError('forbidden', 'forbidden')
    for (const [field, runtime] of [
      ['runtime', write.runtime],
      ['config.runtime', write.config?.['runtime']],
    ] as const) {
      if (runtime === undefined || runtime === null) continue
      if (typeof runtime !== 'string' || !isRuntime(runtime)) {
        throw invalid(`${field} ${JSON.stringify(runtime)} is not known; see GET /api/capabilities for those that are`)
      }
    }
  }

  return {
    async get(id: string, caller: Caller): Promise<Agent> {
      const agent = await store.find(id, caller.ownerScope)
      if (!agent) throw notFound('agent', id)
      return agent
    },

    list: (owner: string | undefined, caller: Caller, page: PageOf): Promise<Agent[]> =>
      caller.ownerScope !== undefined && owner !== undefined && owner !== caller.ownerScope
        ? Promise.resolve([])
        : store.list(caller.ownerScope ?? owner, page),

    async create(write: AgentWrite, by: By, idempotency: Idempotency | undefined): Promise<Agent> {
      checkWrite(write, by.caller)
      const values = { id: newId('agent'), ...newAgentFields(write, defaults()) }
      return store.insert(values, idempotency, recorded('create', by.actor))
    },

    async update(id: string, write: AgentWrite, by: By): Promise<Agent> {
      checkWrite(write, by.caller)
      return change('update', { id, ...by }, agent => ({ ...agent, ...applyWrite(agent, write, defaults()) }))
    },

    setStatus: (id: string, status: AgentStatus, by: By): Promise<Agent> =>
      change(verbs[status], { id, ...by }, agent => ({ ...agent, status })),

    async remove(id: string, { caller, actor }: By): Promise<void> {
      const which = { id, owner: caller.ownerScope }
      if (!(await store.remove(which, recorded('delete', actor)))) throw notFound('agent', id)
    },

    async versions(id: string, caller: Caller, page: PageOf): Promise<AgentVersion[]> {
      await this.get(id, caller)
      if (page.after !== undefined && !/^\d{1,9}$/.test(page.after))
        throw invalid('cursor is not one that this list gave')
      return store.versions(id, page)
    },

    /** Makes an earlier version current again. A paused agent does not wake up by it, and none changes its owner. */
    async rollback(id: string, version: number, by: By): Promise<Agent> {
      await this.get(id, by.caller)
      const target = await store.version(id, version)
      if (!target) throw notFound('version', String(version))
      return change('rollback', { id, ...by }, ({ status, owner_id }) => ({ ...target.agent, status, owner_id }))
    },
  }
}

/** What brings an agent into a status. */
const verbs = { active: 'resume', paused: 'pause', archived: 'archive' } as const satisfies Record<AgentStatus, string>
