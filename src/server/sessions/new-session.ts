import type { Agent, AgentWrite } from '../../contract/agents.ts'
import type { SessionCreate } from '../../contract/new-sessions.ts'
import type { Agents } from '../agents/agents.ts'
import type { AgentStore } from '../agents/store.ts'
import type { Caller } from '../http/caller.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { isAbsent, isRecord, recordOf } from '../platform/json.ts'
import type { MetadataMap } from '../platform/metadata.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import { overridesProblem, withOverrides } from './agent-overrides.ts'
import { modelWithoutName } from './prompt-model.ts'
import type { NewSession } from './session-row.ts'

interface Deps {
  readonly agents: Pick<AgentStore, 'find' | 'version'>
  readonly runtimes: Pick<RuntimeRegistry, 'find' | 'unavailableReason' | 'findings'>
  readonly defaultModel: () => string
  /** Checks the tools and servers that a session gives its agent. */
  readonly checkSupport: Agents['checkRuntimeSupport']
}

/** A session that is ready to be stored, and the model of its first prompt. */
export interface SessionPlan {
  readonly session: NewSession
  readonly metadata: MetadataMap
  readonly model: string
  /** Budget of the session in US dollars, from its agent; undefined means no session budget. */
  readonly budgetUsd: number | undefined
  /** JSON paths of session and agent fields that the runtime ignores: `environment.ref`, `tools[1]`. */
  readonly ignored: readonly string[]
}

/** Validates a creation body and fills in its defaults. Source: Gaps, section 5. */
export async function planSession(deps: Deps, body: SessionCreate, caller: Caller): Promise<SessionPlan> {
  const timezone = timezoneOf(body)
  const environment = environmentOf(body)
  const wanted = body.agent_id ?? body.agent
  const alias = await aliasIn(deps, body)
  const agent =
    alias === undefined && wanted !== undefined
      ? await activeAgent(deps, wanted, body.agent_version, caller)
      : undefined
  const runtime = await runtimeOf(deps, body, alias ?? agent?.config['runtime'] ?? 'builtin')
  const session = {
    id: newId('ses'),
    owner_id: agent?.owner_id ?? caller.principal,
    title: body.title?.trim() ? body.title : titleOf(body.prompt),
    agent: wanted ?? '',
    agent_id: agent?.id ?? '',
    agent_version: agent?.version ?? null,
    harness: runtime,
    runtime,
    environment,
    timezone,
    ancestors: [],
  }
  const model = body.model ?? (await modelWithoutName(deps, { environment, agent, runtime }))
  const ignored = await ignoredBy(deps, { runtime, environment, agent }, caller)
  return { session, metadata: body.metadata ?? {}, model, budgetUsd: budgetOf(agent), ignored }
}

interface PlannedRun {
  readonly runtime: string
  readonly environment: NonNullable<SessionCreate['environment']>
  readonly agent: Agent | undefined
}

/**
 * Returns the fields that the runtime ignores. Throws `invalid_request` for a bad environment; an agent was checked
 * before.
 */
async function ignoredBy(
  { runtimes, checkSupport }: Deps,
  { runtime, environment, agent }: PlannedRun,
  caller: Caller,
): Promise<string[]> {
  const [field, problem] = overridesProblem(environment['agent_overrides']) ?? []
  if (field !== undefined) throw invalid(`${field} ${problem}`)
  const { tools, config } = withOverrides(agent ?? { system: '', tools: {}, config: {} }, environment)
  const findings = await runtimes.findings(runtime, { tools, config, environment })
  const wrong = findings.find(({ field, problem }) => problem !== undefined && field.startsWith('environment.'))
  if (wrong) throw invalid(`${wrong.field} ${wrong.problem}`)
  const { tools: writtenTools, config: writtenConfig } = recordOf(environment['agent_overrides'])
  const write = {
    ...(isAbsent(writtenTools) ? {} : { tools: writtenTools as NonNullable<AgentWrite['tools']> }),
    ...(isRecord(writtenConfig) && { config: writtenConfig }),
  }
  const after = { tools: tools ?? {}, config: { ...config, runtime } }
  await checkSupport(write, after, { caller, place: 'environment.agent_overrides.' })
  return findings.map(({ field }) => field)
}

/**
 * Returns the runtime named by `runtime` or `harness`, else `fallback`. Throws `invalid_request` for an unusable one.
 */
async function runtimeOf({ runtimes }: Deps, { runtime, harness }: SessionCreate, fallback: unknown): Promise<string> {
  const chosen = runtime ?? harness ?? fallback
  const field = runtime === undefined && harness !== undefined ? 'harness' : 'runtime'
  const problem = typeof chosen === 'string' ? await runtimes.unavailableReason(chosen) : 'is not a name'
  if (typeof chosen !== 'string' || problem !== undefined) {
    throw invalid(`${field} ${JSON.stringify(chosen)} ${problem}`)
  }
  // `runtime` wins, but a misspelt harness must still be reported.
  if (harness !== undefined && harness !== chosen && !(await runtimes.find(harness))) {
    throw invalid(`harness ${JSON.stringify(harness)} ${await runtimes.unavailableReason(harness)}`)
  }
  return chosen
}

/**
 * Returns the runtime that `agent` names, if it names one. A runtime wins over an agent of the same name; `agent_id`
 * always names an agent.
 */
async function aliasIn({ runtimes }: Deps, { agent_id, agent }: SessionCreate): Promise<string | undefined> {
  if (agent_id !== undefined || agent === undefined) return undefined
  return (await runtimes.find(agent)) ? agent : undefined
}

// Agents are validated when they are written, but those of older releases may hold any value.
function budgetOf(agent: Agent | undefined): number | undefined {
  const budget = agent?.config['session_max_budget']
  return typeof budget === 'number' && budget > 0 ? budget : undefined
}

/**
 * Returns the agent in the version that the session runs: `version`, else the pinned one, else the current one. Status
 * and owner are always those of the current version.
 */
async function activeAgent({ agents }: Deps, id: string, version: number | undefined, caller: Caller): Promise<Agent> {
  const agent = await agents.find(id, caller.ownerScope)
  if (!agent) throw notFound('agent', id)
  if (agent.status !== 'active') {
    throw new AppError('conflict', `agent ${id} is ${agent.status}; resume it before starting sessions`)
  }
  const wanted = version ?? agent.config['pinned_version']
  if (typeof wanted !== 'number' || wanted === agent.version) return agent
  const found = await agents.version(id, wanted)
  if (!found) throw notFound('version', String(wanted))
  return { ...found.agent, owner_id: agent.owner_id }
}

function timezoneOf({ timezone, tz }: SessionCreate): string | null {
  const name = timezone ?? tz ?? null
  if (name === null || isTimeZone(name)) return name
  throw invalid(`${timezone === undefined ? 'tz' : 'timezone'} ${JSON.stringify(name)} is not an IANA time zone`)
}

function environmentOf({ environment = {} }: SessionCreate): NonNullable<SessionCreate['environment']> {
  const { repository } = environment
  if (repository !== undefined && (typeof repository !== 'string' || repository.trim() === '')) {
    throw invalid('environment.repository must be the URL of a repository, not blank')
  }
  return environment
}

const maxTitleLength = 80

/** Returns a title from the first prompt: its first 80 characters on one line. */
export function titleOf(prompt: string | undefined): string {
  const line = prompt?.replaceAll(/\s+/g, ' ').trim() ?? ''
  return line === '' ? 'New session' : [...line].slice(0, maxTitleLength).join('')
}

/** True for an IANA time zone name. Offsets such as `+02:00` are rejected. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
