import type { ManagedSessionCreate } from '../../contract/managed-sessions.ts'
import type { AgentStore } from '../agents/store.ts'
import type { Caller } from '../http/caller.ts'
import { notFound } from '../platform/errors.ts'
import type { SkillBlocks } from './agent-setup.ts'
import { type ManagedAgents, runtimeKey } from './agents.ts'
import type { Environments } from './environments.ts'
import { firstText, overridesOf, repositoryOf, type WantedAgent, wantedAgent } from './session-write.ts'

export interface SessionPlanDeps {
  readonly agents: Pick<AgentStore, 'find' | 'version'>
  readonly managedAgents: Pick<ManagedAgents, 'foundFor' | 'ignoredFilesOf' | 'checkSetup'>
  readonly environments: Pick<Environments, 'forSession'>
  readonly blocks: SkillBlocks
}

/** Returns the function that reads what a new session is created from. */
export function createSessionPlan({ agents, managedAgents, environments, blocks }: SessionPlanDeps) {
  /** Returns the environment fields that override the agent of a new session, and what of its setup has no effect. */
  async function changesOf({ id, version, setup }: WantedAgent, runtime: string | undefined, caller: Caller) {
    if (!setup) return { changes: {}, ignored: [] }
    const current = await agents.find(id, caller.ownerScope)
    if (!current) throw notFound('agent', id)
    const wanted = version ?? current.config['pinned_version']
    const chosen = typeof wanted === 'number' ? (await agents.version(id, wanted))?.agent : current
    if (!chosen) throw notFound('version', String(wanted))
    const config = { ...chosen.config, runtime: runtime ?? chosen.config['runtime'] }
    await managedAgents.checkSetup(setup, { config, caller })
    const found = await managedAgents.foundFor(setup, caller)
    const ignored = await managedAgents.ignoredFilesOf(setup, config.runtime, caller)
    return { changes: overridesOf(chosen, setup, { blocks, found }), ignored: ignored.map(field => `agent.${field}`) }
  }

  /** Returns the creation body of a session, with its first messages as they were sent. */
  async function planOf(body: ManagedSessionCreate, caller: Caller) {
    const { initial_events: events = [], metadata = {}, title = null } = body
    const wanted = wantedAgent(body.agent)
    const { id: environment_id, config } = await environments.forSession(body.environment_id, caller)
    const runtime = metadata[runtimeKey]
    const { changes, ignored } = await changesOf(wanted, runtime, caller)
    const prompt = firstText(events[0])
    const plan = {
      agent_id: wanted.id,
      environment: { ...repositoryOf(body.resources), environment_id, config, ...changes },
      metadata,
      ...(wanted.version !== undefined && { agent_version: wanted.version }),
      ...(title !== null && { title }),
      ...(prompt !== undefined && { prompt }),
      ...(runtime !== undefined && { runtime }),
    }
    const sent = events.map((event, at) => {
      const place = `initial_events[${at}]`
      return event.type === 'user.message' ? { content: event.content, place } : { outcome: event, place }
    })
    return { plan, environment_id, sent, ignoredFiles: ignored }
  }

  return planOf
}
