import { isDeepStrictEqual } from 'node:util'
import type { Agent, AgentFieldChange, AgentFile, AgentStatus, AgentUpdate, AgentWrite } from '../../contract/agents.ts'
import { skillMarker } from '../../contract/attached-skill.ts'
import type { Audit } from '../audit/audit.ts'
import type { SessionSecrets } from '../egress/session-secrets.ts'
import type { Actor, By, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { runAsOf } from '../http/reach.ts'
import { AppError, invalid, invalidCursor, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import { anyModel } from '../runtimes/model-choice.ts'
import { agentFile } from './agent-file.ts'
import { publicFields } from './audited.ts'
import { createCalledAgentsCheck } from './called-agents.ts'
import { type AgentDefaults, fieldsAfter, fieldsWhere, pick } from './fields.ts'
import type { RuntimeSupport } from './runtime-support.ts'
import type { AgentFilter, AgentStore, OnChange, PageOf, StoredVersion, VersionMark } from './store.ts'
import type { StoredAgent } from './stored-agent.ts'
import { versionDiff } from './version-diff.ts'
import { createWriteChecks } from './write-checks.ts'

interface Deps {
  readonly store: AgentStore
  readonly defaults: () => AgentDefaults
  /** True for a runtime that does not use the models of the gateway. */
  readonly ownsModels: (id: string) => Promise<boolean>
  /** True for a built-in runtime or a registered harness. */
  readonly isRuntime: (id: string) => Promise<boolean>
  readonly runtimeSupport: RuntimeSupport
  readonly resultSchemas: Pick<ResultSchemas, 'schemaProblem'>
  /** Returns a problem of the secrets in `config.network`. */
  readonly secretProblem: SessionSecrets['problemOf']
  readonly audit: Audit
  /** Masks secrets in exported files. */
  readonly secrets: Parameters<typeof agentFile>[1]
}

/** Rules of agents: who may change which agent, what a write changes, and which writes are rejected. */
export type Agents = ReturnType<typeof createAgents>

export function createAgents(deps: Deps) {
  const { store, defaults, ownsModels, runtimeSupport, audit, secrets } = deps
  const checkCalled = createCalledAgentsCheck(store)
  const { checkFields, checkSecrets } = createWriteChecks(deps)
  const recorded =
    (action: string, actor: Actor): OnChange =>
    (sql, before, after) => {
      const { id = '', owner_id = null } = after ?? before ?? {}
      const fields = { before: before && publicFields(before), after: after && publicFields(after) }
      return audit.record(sql, { actor, action: `agent.${action}`, objectId: id, ownerId: owner_id, ...fields })
    }

  /** Applies `edit` as one new version and one audit entry; changes nothing when it returns undefined. */
  async function change(
    action: string,
    which: By & { id: string; note?: string | null | undefined },
    edit: (agent: StoredAgent) => StoredAgent | undefined,
    also: OnChange = async () => undefined,
  ): Promise<StoredAgent> {
    const { id, caller, actor, note } = which
    const apply = (agent: StoredAgent) => {
      const edited = edit(agent)
      if (!edited) return undefined
      const isSame = isSameWork(agent, edited)
      const run_as_key_id = isSame ? agent.run_as_key_id : runAsOf(caller)
      return { ...edited, owner_id: edited.owner_id ?? '', run_as_key_id, isSameWork: isSame }
    }
    const record = recorded(action, actor)
    const onChange: OnChange = async (sql, before, after) => {
      await record(sql, before, after)
      await also(sql, before, after)
    }
    const changed = await store.update({ id, owner: caller.ownerScope, mark: markOf(actor, note) }, apply, onChange)
    if (!changed) throw notFound('agent', id)
    return changed
  }

  async function get(id: string, caller: Caller): Promise<StoredAgent> {
    const agent = await store.find(id, caller.ownerScope)
    if (!agent) throw notFound('agent', id)
    return agent
  }

  async function getVersion(id: string, version: number, caller: Caller): Promise<StoredVersion> {
    await get(id, caller)
    const found = await store.version(id, version)
    if (!found) throw notFound('version', String(version))
    return found
  }

  /** Checked at the write, because a wrong pin would otherwise fail only the next session. */
  async function checkPin(id: string | undefined, { config }: AgentWrite, caller: Caller): Promise<void> {
    const pinned = config?.['pinned_version']
    if (typeof pinned !== 'number') return
    if (id !== undefined) await get(id, caller)
    const exists = id === undefined ? pinned === 1 : (await store.version(id, pinned)) !== undefined
    if (!exists) throw invalid(`config.pinned_version ${pinned} is not a version of this agent`)
  }

  async function create(sent: AgentWrite, by: By, { idempotency, skills, action = 'create' }: Creation) {
    const write = withServers(sent)
    await checkFields(write, by.caller)
    await checkPin(undefined, write, by.caller)
    await checkCalled(undefined, write)
    const given = fieldsAfter(write, undefined, defaults())
    const isFree = (write.model ?? undefined) === undefined && (await ownsModels(given.harness))
    const fields = { ...given, ...(isFree && { model: anyModel }), skills: skills ?? [] }
    const values = { id: newId('agent'), ...fields, run_as_key_id: runAsOf(by.caller) }
    await runtimeSupport.check(write, fields, { caller: by.caller, ...placeOf(sent) })
    await checkSecrets(write, by.caller)
    return store.insert(values, { key: idempotency, mark: markOf(by.actor, write.note) }, recorded(action, by.actor))
  }

  return {
    get,
    checkCalled,
    /** Returns an agent that another one of that owner may call. */
    called: (id: string, owner: string | null): Promise<StoredAgent | undefined> => store.find(id, owner ?? undefined),
    checkRuntimeSupport: runtimeSupport.check,
    ignored: runtimeSupport.ignored,

    list: (owner: string | undefined, caller: Caller, page: PageOf & AgentFilter): Promise<StoredAgent[]> =>
      caller.ownerScope !== undefined && owner !== undefined && owner !== caller.ownerScope
        ? Promise.resolve([])
        : store.list(caller.ownerScope ?? owner, page),

    create: (write: AgentWrite, by: By, idempotency: Idempotency | undefined): Promise<Agent> =>
      create(write, by, { idempotency }),

    /** Like `create`, with the skill blocks that `write.system` contains. */
    createWithSkills: (write: AgentWrite, by: By, creation: Omit<Creation, 'action'>): Promise<StoredAgent> =>
      create(write, by, creation),

    async update(id: string, { expected_version: expected, ...sent }: AgentUpdate, by: By): Promise<Agent> {
      const write = withServers(sent)
      await checkFields(write, by.caller)
      await checkPin(id, write, by.caller)
      await checkCalled(id, write)
      const after = fieldsAfter(write, await get(id, by.caller), defaults())
      await runtimeSupport.check(write, after, { caller: by.caller, ...placeOf(sent) })
      await checkSecrets(write, by.caller)
      return change('update', { id, note: write.note, ...by }, agent => {
        checkVersion(agent, expected)
        return { ...agent, ...fieldsAfter(write, agent, defaults()) }
      })
    },

    setStatus: (id: string, status: AgentStatus, by: By): Promise<StoredAgent> =>
      change(verbs[status], { id, ...by }, agent => ({ ...agent, status })),

    async remove(id: string, { caller, actor }: By): Promise<void> {
      const which = { id, owner: caller.ownerScope }
      if (!(await store.remove(which, recorded('delete', actor)))) throw notFound('agent', id)
    },

    async versions(id: string, caller: Caller, page: PageOf): Promise<StoredVersion[]> {
      await get(id, caller)
      if (page.after !== undefined && !/^\d{1,9}$/.test(page.after)) throw invalidCursor()
      return store.versions(id, page)
    },

    /** Makes an earlier version current again. Status and owner stay unchanged. */
    async rollback({ id, version, note }: Rollback, by: By): Promise<Agent> {
      const target = await getVersion(id, version, by.caller)
      return change('rollback', { id, note, ...by }, ({ status, owner_id }) => ({ ...target.agent, status, owner_id }))
    },

    version: (id: string, version: number, caller: Caller): Promise<StoredVersion> => getVersion(id, version, caller),

    /** `to` undefined: the current version. */
    async diff(id: string, { from, to }: Versions, caller: Caller): Promise<VersionDiff> {
      const before = await getVersion(id, from, caller)
      const after = to === undefined ? await get(id, caller) : (await getVersion(id, to, caller)).agent
      return { from, to: to ?? after.version, changes: versionDiff(before.agent, after) }
    },

    async export(id: string, caller: Caller): Promise<AgentFile> {
      return agentFile(await get(id, caller), secrets)
    },

    /** Creates an agent from a file. Its owner is `owner_id`, else the caller's owner, else that of the file. */
    async import(file: AgentFile, { name, owner_id, idempotency }: Importing, by: By): Promise<Agent> {
      const owner = owner_id ?? by.caller.ownerScope ?? file.agent.owner_id ?? by.caller.principal
      // `config.runtime` takes precedence: in older files `harness` was only a label.
      const { harness, ...fields } = file.agent
      const runtime = fields.config['runtime'] === undefined ? { runtime: harness } : {}
      const write = { ...fields, ...runtime, owner_id: owner, name: name ?? fields.name }
      const skills = file.skills.filter(({ id }) => write.system.includes(skillMarker(id)))
      return create(write, by, { idempotency, skills, action: 'import' })
    },

    /**
     * Applies `edit` to the current agent as one version; changes nothing when it returns undefined. `edit` may throw.
     */
    revise: (
      { id, ...by }: By & { id: string },
      edit: (agent: StoredAgent) => StoredAgent | undefined,
    ): Promise<StoredAgent> => change('update', { id, ...by }, edit),

    /** Changes prompt and skills of an agent as one version; changes nothing when `edit` returns undefined. */
    editPrompt: (
      { id, action, also, ...by }: By & PromptEdit,
      edit: (agent: StoredAgent) => Pick<StoredAgent, 'system' | 'skills'> | undefined,
    ): Promise<StoredAgent> =>
      change(
        action,
        { id, ...by },
        agent => {
          const edited = edit(agent)
          return edited && { ...agent, ...edited }
        },
        also,
      ),

    /** Returns the caller's visible agents whose prompt contains `text`, newest first. */
    withText: (text: string, caller: Caller, page: PageOf): Promise<StoredAgent[]> =>
      store.withText(text, caller.ownerScope, page),
  }
}

/** Returns the write with `mcp_servers` of the Managed Agents API as `config.mcp_servers`, where it is stored. */
function withServers({ mcp_servers: servers, ...write }: AgentWrite): AgentWrite {
  if (servers === undefined) return write
  if (write.config === null || write.config?.['mcp_servers'] !== undefined)
    throw invalid('mcp_servers is another name of config.mcp_servers; send one of them')
  return { ...write, config: { ...write.config, mcp_servers: servers } }
}

const placeOf = ({ mcp_servers: servers }: AgentWrite) => (servers === undefined ? {} : { serversField: 'mcp_servers' })

/**
 * True when model, tools and config are equal: then the key that triggers run under stays. The prompt does not count.
 */
const isSameWork = (one: StoredAgent, other: StoredAgent): boolean =>
  isDeepStrictEqual(pick(one, workFields), pick(other, workFields))

const workFields = fieldsWhere(({ isWork }) => isWork === true)

/** Returns what is stored with a version. A blank note counts as absent. */
const markOf = ({ principal }: Actor, note: string | null | undefined): VersionMark => ({
  note: note?.trim() || null,
  created_by: principal,
})

function checkVersion({ id, version }: StoredAgent, expected: number | undefined): void {
  if (expected === undefined || expected === version) return
  throw new AppError('conflict', `agent ${id} is at version ${version}, not ${expected}; read it again and retry`)
}

interface Rollback {
  readonly id: string
  readonly version: number
  readonly note?: string | null | undefined
}

interface Creation {
  readonly idempotency: Idempotency | undefined
  readonly skills?: StoredAgent['skills']
  readonly action?: 'create' | 'import'
}

interface Versions {
  readonly from: number
  readonly to: number | undefined
}

interface VersionDiff {
  readonly from: number
  readonly to: number
  readonly changes: AgentFieldChange[]
}

interface Importing {
  readonly name: string | undefined
  readonly owner_id: string | undefined
  readonly idempotency: Idempotency | undefined
}

interface PromptEdit {
  readonly id: string
  /** The verb of the audit log. */
  readonly action: string
  /** Runs in the transaction of the change. */
  readonly also?: OnChange | undefined
}

/** Audit verbs by new status. */
const verbs = { active: 'resume', paused: 'pause', archived: 'archive' } as const satisfies Record<AgentStatus, string>
