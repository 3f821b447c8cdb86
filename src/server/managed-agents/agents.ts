import { isDeepStrictEqual } from 'node:util'
import type { ManagedAgent, ManagedAgentCreate, ManagedAgentUpdate } from '../../contract/managed-agents.ts'
import type { Skill } from '../../contract/skills.ts'
import type { Agents } from '../agents/agents.ts'
import type { AgentFilter, PageOf, StoredAgent, StoredVersion } from '../agents/store.ts'
import type { By, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError, invalid } from '../platform/errors.ts'
import { metadataIn, patched } from '../platform/metadata.ts'
import { type AgentTimes, toManagedAgent } from './agent-object.ts'
import { configOf, type Setup, type SkillBlocks, wantedSkills, withSetup } from './agent-setup.ts'
import type { AgentTimesStore } from './agent-times-store.ts'

interface Deps {
  readonly agents: Pick<
    Agents,
    'get' | 'version' | 'versions' | 'list' | 'createCarrying' | 'revise' | 'setStatus' | 'checkCarried' | 'ignored'
  >
  readonly times: AgentTimesStore
  /** Those of the given skills that the caller's library has. */
  readonly skillsAmong: (caller: Caller, ids: readonly string[]) => Promise<readonly Skill[]>
  readonly blocks: SkillBlocks
}

/** Our agents in the words of the Managed Agents dialect. The same records, ids and versions as `/api/agents`. */
export type ManagedAgents = ReturnType<typeof createManagedAgents>

/** This key of `metadata` names the runtime of a new agent, which the dialect has no field for. */
export const runtimeKey = 'switchyard_runtime'

export function createManagedAgents({ agents, times, skillsAmong, blocks }: Deps) {
  async function present(found: readonly StoredAgent[]): Promise<ManagedAgent[]> {
    const changed = await times.of(found.map(({ id }) => id))
    return found.map(agent => toManagedAgent(agent, blocks, changed.get(agent.id) ?? unchanged(agent)))
  }

  async function presentOne(agent: StoredAgent): Promise<ManagedAgent> {
    const [shown] = await present([agent])
    if (!shown) throw new Error(`agent ${agent.id} cannot be shown`)
    return shown
  }

  /** The skills of a setup that are in the library of the caller, in the order of the setup. */
  async function foundFor(setup: Setup, caller: Caller): Promise<readonly Skill[]> {
    const wanted = wantedSkills(setup)
    const found = wanted.length === 0 ? [] : await skillsAmong(caller, wanted)
    return wanted.flatMap(id => found.find(skill => skill.id === id) ?? [])
  }

  /** Throws `invalid` for tools and servers of a setup that the runtime of the agent cannot call. */
  async function checkSetup({ tools, mcp_servers: servers }: Setup, runtime: unknown): Promise<void> {
    const config = { runtime, ...(servers && { mcp_servers: servers }) }
    await agents.checkCarried({ tools: [...(tools ?? [])], config }, { tools: tools ?? [], config })
  }

  return {
    foundFor,
    checkSetup,

    /** Names of what the runtime of an agent cannot carry. */
    ignored: async (id: string, caller: Caller): Promise<string[]> => agents.ignored(await agents.get(id, caller)),

    async get(id: string, version: number | undefined, caller: Caller): Promise<ManagedAgent> {
      if (version === undefined) return presentOne(await agents.get(id, caller))
      return ofVersion(await agents.version(id, version, caller), blocks)
    },

    list: async (page: PageOf & AgentFilter, caller: Caller): Promise<ManagedAgent[]> =>
      present(await agents.list(undefined, caller, page)),

    async create(body: ManagedAgentCreate, by: By, idempotency: Idempotency | undefined): Promise<ManagedAgent> {
      const { name, description, metadata } = body
      await checkSetup(body, metadata?.[runtimeKey] ?? 'builtin')
      const found = await foundFor(body, by.caller)
      const setup = { ...body, tools: body.tools ?? [] }
      const made = withSetup({ ...nothing, model: '' }, setup, { blocks, found })
      const { system, tools, skills, model } = made
      const config = configOf(made.config, { metadata })
      const runtime = metadata?.[runtimeKey]
      const owner_id = by.caller.principal
      const write = {
        name,
        owner_id,
        model,
        system,
        description: description || null,
        tools: listOf(tools),
        config,
        runtime,
      }
      return presentOne(await agents.createCarrying(withoutUndefined(write), by, { idempotency, skills }))
    },

    /** What changes nothing makes no version. */
    async update(id: string, body: ManagedAgentUpdate, by: By): Promise<ManagedAgent> {
      await checkSetup(body, (await agents.get(id, by.caller)).config['runtime'])
      const found = await foundFor(body, by.caller)
      const revised = await agents.revise({ id, ...by }, before => {
        checkRevision(before, body.version)
        const after = withSetup(before, body, { blocks, found })
        const metadata = patched(metadataIn(before.config['metadata']), body.metadata)
        const { name = before.name } = body
        const description = body.description === undefined ? before.description : body.description || null
        const edited = {
          ...after,
          name,
          description,
          config: configOf(after.config, body.metadata ? { metadata } : {}),
        }
        return isDeepStrictEqual(edited, before) ? undefined : edited
      })
      return presentOne(revised)
    },

    async archive(id: string, by: By): Promise<ManagedAgent> {
      const before = await agents.get(id, by.caller)
      if (before.status === 'archived') return presentOne(before)
      return presentOne(await agents.setStatus(id, 'archived', by))
    },

    async versions(id: string, caller: Caller, page: PageOf): Promise<ManagedAgent[]> {
      const found = await agents.versions(id, caller, page)
      return found.map(version => ofVersion(version, blocks))
    },
  }
}

const nothing = { system: '', skills: [], tools: [], config: {} }

const listOf = (tools: unknown): unknown[] => (Array.isArray(tools) ? tools : [])

const withoutUndefined = <T extends { runtime: string | undefined }>({ runtime, ...write }: T) =>
  runtime === undefined ? write : { ...write, runtime }

const unchanged = ({ created_at }: StoredAgent): AgentTimes => ({
  updated_at: new Date(created_at),
  archived_at: null,
})

/** A version is dated by when it was made. */
function ofVersion({ agent, created_at }: StoredVersion, blocks: SkillBlocks): ManagedAgent {
  const updated_at = new Date(created_at)
  return toManagedAgent(agent, blocks, { updated_at, archived_at: agent.status === 'archived' ? updated_at : null })
}

function checkRevision({ id, version, status }: StoredAgent, expected: number | undefined): void {
  if (status === 'archived') throw invalid(`agent ${id} is archived; it stays as it is`)
  if (expected !== undefined && expected !== version) {
    throw new AppError('conflict', `agent ${id} is at version ${version}, not ${expected}; read it again`)
  }
}
