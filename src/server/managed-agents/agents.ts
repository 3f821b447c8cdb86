import { isDeepStrictEqual } from 'node:util'
import type { ManagedAgent, ManagedAgentCreate, ManagedAgentUpdate } from '../../contract/managed-agents.ts'
import type { Agents } from '../agents/agents.ts'
import type { AgentFilter, PageOf, StoredVersion } from '../agents/store.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import type { By, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError, invalid } from '../platform/errors.ts'
import { metadataIn, patched } from '../platform/metadata.ts'
import { type AgentTimes, toManagedAgent } from './agent-object.ts'
import {
  configOf,
  type FoundSkill,
  ignoredFiles,
  type Setup,
  type SkillBlocks,
  type WantedSkill,
  wantedSkills,
  withSetup,
} from './agent-setup.ts'
import type { AgentTimesStore } from './agent-times-store.ts'
import { multiagentConfig, rosterField, shownMultiagent } from './multiagent.ts'

interface Deps {
  readonly agents: Pick<
    Agents,
    | 'get'
    | 'version'
    | 'versions'
    | 'list'
    | 'createWithSkills'
    | 'revise'
    | 'setStatus'
    | 'checkRuntimeSupport'
    | 'checkCalled'
    | 'called'
    | 'ignored'
  >
  readonly times: AgentTimesStore
  /** Returns those of the given skills that exist in the caller's library. Throws `invalid_request` for other versions. */
  readonly skillsAmong: (caller: Caller, wanted: readonly WantedSkill[]) => Promise<readonly FoundSkill[]>
  readonly blocks: SkillBlocks
  /** True for a runtime whose agents get the files of skills. */
  readonly takesSkillFiles: (runtime: string) => Promise<boolean>
}

/** Our agents as objects of the Managed Agents dialect, with the records, ids and versions of `/api/agents`. */
export type ManagedAgents = ReturnType<typeof createManagedAgents>

/** Key of `metadata` that names the runtime of a new agent, which the dialect has no field for. */
export const runtimeKey = 'switchyard_runtime'

export function createManagedAgents({ agents, times, skillsAmong, blocks, takesSkillFiles }: Deps) {
  /** Returns an agent as an object; those that it may call with the version that runs. */
  async function shown(agent: StoredAgent, changed: AgentTimes): Promise<ManagedAgent> {
    const multiagent = await shownMultiagent(agent.config, async (id, wanted) => {
      const called = await agents.called(id, agent.owner_id)
      const version = wanted ?? called?.version
      return called && { type: 'agent', id, version }
    })
    return toManagedAgent(agent, { ...changed, blocks, multiagent })
  }

  async function present(found: readonly StoredAgent[]): Promise<ManagedAgent[]> {
    const changed = await times.of(found.map(({ id }) => id))
    return Promise.all(found.map(agent => shown(agent, changed.get(agent.id) ?? unchanged(agent))))
  }

  async function presentOne(agent: StoredAgent): Promise<ManagedAgent> {
    const [object] = await present([agent])
    if (!object) throw new Error(`agent ${agent.id} cannot be presented (bug)`)
    return object
  }

  /** A version is dated by its creation. */
  function ofVersion({ agent, created_at }: StoredVersion): Promise<ManagedAgent> {
    const updated_at = new Date(created_at)
    return shown(agent, { updated_at, archived_at: agent.status === 'archived' ? updated_at : null })
  }

  /** Returns the skills of a setup that exist in the caller's library, in the order of the setup. */
  async function foundFor(setup: Setup, caller: Caller): Promise<readonly FoundSkill[]> {
    const wanted = wantedSkills(setup)
    return wanted.length === 0 ? [] : skillsAmong(caller, wanted)
  }

  /** Returns the names of the skills of a setup whose files an agent of the runtime does not get. */
  const ignoredFilesOf = async (setup: Setup, runtime: unknown, caller: Caller): Promise<string[]> =>
    (await takesSkillFiles(String(runtime))) ? [] : ignoredFiles(setup, await foundFor(setup, caller))

  /** Throws `invalid_request` for tools and MCP servers that the agent's runtime cannot call. */
  async function checkSetup({ tools, mcp_servers: servers }: Setup, { config, caller }: Checked): Promise<void> {
    const write = { ...(tools && { tools: [...tools] }), ...(servers && { config: { mcp_servers: servers } }) }
    const after = { tools: tools ?? [], config: servers === undefined ? config : { ...config, mcp_servers: servers } }
    await agents.checkRuntimeSupport(write, after, { caller, serversField: 'mcp_servers' })
  }

  /** Throws `invalid_request` for agents that the agent cannot call. `id` is undefined for a new agent. */
  async function checkMultiagent({ multiagent }: Setup, { id, config, caller, owner }: CheckedCalls): Promise<void> {
    if (!multiagent) return
    const { agents: called } = multiagentConfig(config, multiagent)
    const write = { config: { agents: called } }
    await agents.checkRuntimeSupport(write, { tools: [], config: { ...config, agents: called } }, { caller })
    await agents.checkCalled(id, { ...write, owner_id: owner }, at => rosterField(multiagent, at))
  }

  return {
    foundFor,
    ignoredFilesOf,
    checkSetup,

    /** Returns the names of settings that an agent ignores: those of its runtime, and files of the skills of a setup. */
    async ignored(id: string, setup: Setup, caller: Caller): Promise<string[]> {
      const agent = await agents.get(id, caller)
      return [...(await agents.ignored(agent)), ...(await ignoredFilesOf(setup, agent.config['runtime'], caller))]
    },

    async get(id: string, version: number | undefined, caller: Caller): Promise<ManagedAgent> {
      if (version === undefined) return presentOne(await agents.get(id, caller))
      return ofVersion(await agents.version(id, version, caller))
    },

    list: async (page: PageOf & AgentFilter, caller: Caller): Promise<ManagedAgent[]> =>
      present(await agents.list(undefined, caller, page)),

    async create(body: ManagedAgentCreate, by: By, idempotency: Idempotency | undefined): Promise<ManagedAgent> {
      const { name, description, metadata } = body
      const checked = { config: { runtime: metadata?.[runtimeKey] ?? 'builtin' }, caller: by.caller }
      await checkSetup(body, checked)
      await checkMultiagent(body, { ...checked, id: undefined, owner: by.caller.principal })
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
      return presentOne(await agents.createWithSkills(withoutUndefined(write), by, { idempotency, skills }))
    },

    /** Updates an agent. An update without changes creates no version. */
    async update(id: string, body: ManagedAgentUpdate, by: By): Promise<ManagedAgent> {
      const { config, owner_id: owner } = await agents.get(id, by.caller)
      await checkSetup(body, { config, caller: by.caller })
      await checkMultiagent(body, { id, config, caller: by.caller, owner: owner ?? '' })
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
      return Promise.all(found.map(ofVersion))
    },
  }
}

/** What a setup is checked against. */
interface Checked {
  /** That of the agent before, or of a new agent. */
  readonly config: StoredAgent['config']
  readonly caller: Caller
}

interface CheckedCalls extends Checked {
  readonly id: string | undefined
  /** Owner of the agent, and of all that it may call. */
  readonly owner: string
}

const nothing = { system: '', skills: [], tools: [], config: {} }

const listOf = (tools: unknown): unknown[] => (Array.isArray(tools) ? tools : [])

const withoutUndefined = <T extends { runtime: string | undefined }>({ runtime, ...write }: T) =>
  runtime === undefined ? write : { ...write, runtime }

const unchanged = ({ created_at }: StoredAgent): AgentTimes => ({
  updated_at: new Date(created_at),
  archived_at: null,
})

function checkRevision({ id, version, status }: StoredAgent, expected: number | undefined): void {
  if (status === 'archived') throw invalid(`agent ${id} is archived and cannot be changed`)
  if (expected !== undefined && expected !== version) {
    throw new AppError('conflict', `agent ${id} is at version ${version}, not ${expected}; read it again and retry`)
  }
}
