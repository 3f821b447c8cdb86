import type { Agent, AgentStatus, AgentVersion, AgentWrite } from '../../contract/agents.ts'
import type { Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { type AgentDefaults, applyWrite, newAgentFields } from './fields.ts'
import type { AgentStore, PageOf } from './store.ts'

interface Deps {
  readonly store: AgentStore
  readonly defaults: () => AgentDefaults
  /** True for a built-in runtime and a registered harness. */
  readonly isRuntime: (id: string) => boolean
}

/** The rules of agents: who may touch which, what a write changes, and what is refused. */
export type Agents = ReturnType<typeof createAgents>

export function createAgents({ store, defaults, isRuntime }: Deps) {
  async function change(id: string, caller: Caller, edit: (agent: Agent) => Agent): Promise<Agent> {
    const changed = await store.update(id, caller.ownerScope, agent => {
      const { owner_id, ...fields } = edit(agent)
      return { ...fields, owner_id: owner_id ?? '' }
    })
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

    async create(write: AgentWrite, caller: Caller, idempotency: Idempotency | undefined): Promise<Agent> {
      checkWrite(write, caller)
      return store.insert(newId('agent'), newAgentFields(write, defaults()), idempotency)
    },

    async update(id: string, write: AgentWrite, caller: Caller): Promise<Agent> {
      checkWrite(write, caller)
      return change(id, caller, agent => ({ ...agent, ...applyWrite(agent, write, defaults()) }))
    },

    setStatus: (id: string, status: AgentStatus, caller: Caller): Promise<Agent> =>
      change(id, caller, agent => ({ ...agent, status })),

    async remove(id: string, caller: Caller): Promise<void> {
      if (!(await store.remove(id, caller.ownerScope))) throw notFound('agent', id)
    },

    async versions(id: string, caller: Caller, page: PageOf): Promise<AgentVersion[]> {
      await this.get(id, caller)
      if (page.after !== undefined && !/^\d{1,9}$/.test(page.after))
        throw invalid('cursor is not one that this list gave')
      return store.versions(id, page)
    },

    /** Makes an earlier version current again. The status stays as it is: a paused agent does not wake up by it. */
    async rollback(id: string, version: number, caller: Caller): Promise<Agent> {
      await this.get(id, caller)
      const target = await store.version(id, version)
      if (!target) throw notFound('version', String(version))
      return change(id, caller, agent => ({ ...target.agent, status: agent.status }))
    },
  }
}
