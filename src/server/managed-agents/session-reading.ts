import type { Session } from '../../contract/sessions.ts'
import type { AgentStore } from '../agents/store.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { type ThreadAgent, toThreadAgent } from './agent-object.ts'
import type { SkillBlocks } from './agent-setup.ts'
import { shownMultiagent } from './multiagent.ts'
import type { SessionDetailsStore } from './session-details-store.ts'
import type { SessionParts } from './session-object.ts'

export type SessionRow = Awaited<ReturnType<Sessions['open']>>

export interface SessionReadingDeps {
  readonly store: Pick<SessionDetailsStore, 'of'>
  readonly toSession: (row: SessionRow) => Session
  readonly withOverrides: (agent: StoredAgent, environment: SessionRow['environment']) => StoredAgent
  readonly agents: Pick<AgentStore, 'find' | 'version'>
  readonly blocks: SkillBlocks
}

/** Reads what session objects and threads are made of. */
export type SessionReading = ReturnType<typeof createSessionReading>

export function createSessionReading({ store, toSession, withOverrides, agents, blocks }: SessionReadingDeps) {
  /** Returns an agent that another one may call, as the dialect shows it in a session. */
  const calledBy =
    ({ owner_id }: StoredAgent) =>
    async (id: string, wanted: number | undefined): Promise<ThreadAgent | undefined> => {
      const current = await agents.find(id, owner_id ?? undefined)
      const agent = wanted === undefined || !current ? current : (await agents.version(id, wanted))?.agent
      return agent && toThreadAgent(agent, blocks)
    }

  /** Returns the agent as the session runs it: the model of the session overrides that of the agent. */
  async function agentOf(found: StoredAgent, row: SessionRow): Promise<NonNullable<SessionParts['agent']>> {
    const agent = asRun(withOverrides(found, row.environment), row)
    return { ...toThreadAgent(agent, blocks), multiagent: await shownMultiagent(agent.config, calledBy(found)) }
  }

  /** Returns the parts in the order of the rows; sessions deleted meanwhile are omitted. */
  return async (rows: readonly SessionRow[]): Promise<SessionParts[]> => {
    const details = await store.of(rows.map(({ id }) => id))
    const versionOf = versionReader(agents)
    const parts = rows.map(async (row): Promise<SessionParts[]> => {
      const facts = details.get(row.id)
      const found = await versionOf(row)
      const agent = found && (await agentOf(found, row))
      return facts ? [{ session: toSession(row), details: facts, agent }] : []
    })
    return (await Promise.all(parts)).flat()
  }
}

const asRun = (agent: StoredAgent, { environment: { model } }: SessionRow): StoredAgent =>
  typeof model === 'string' && model !== '' ? { ...agent, model } : agent

/** Returns a reader that loads each version once, regardless of the number of sessions that run it. */
function versionReader({ version }: Pick<AgentStore, 'version'>) {
  const read = new Map<string, ReturnType<typeof version>>()
  return async ({ agent_id: id, agent_version: number }: SessionRow): Promise<StoredAgent | undefined> => {
    if (number === null) return undefined
    const key = `${id} ${number}`
    const found = read.get(key) ?? version(id, number)
    read.set(key, found)
    return (await found)?.agent
  }
}
