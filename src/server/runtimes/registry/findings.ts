import type { ApiSpec } from '../../../contract/runtimes.ts'
import { type EnvironmentField, ownSupport, runtimeSpecs, type SettingSupport } from '../../config/runtime-specs.ts'
import { isRecord, recordOf } from '../../platform/json.ts'
import { subagentEntries } from '../../tools/subagents.ts'
import { cloneFindings } from '../repositories/clone-findings.ts'
import type { Finding, RequestedSettings } from '../runtime.ts'
import { serverFindings } from './server-findings.ts'
import { toolFindings } from './tool-findings.ts'

type Spec = ApiSpec | 'builtin'

/** What is known of a runtime and of this server. */
interface RuntimeFacts {
  /** True while the tool `web_search` exists. */
  readonly canSearch: boolean
  /** True when the sandboxes of this server have git and a network. */
  readonly canClone: boolean
  /** True for a server of another machine, where its protocol also has programs that this service starts. */
  readonly isRemote?: boolean
  /** Returns a problem of `config.network` or `config.sandbox` with the runtime. */
  readonly sandboxProblem: (config: RequestedSettings['config']) => Finding | undefined
}

/** Lists the settings of an agent and a session that runtimes of a protocol do not support. */
export function findingsFor(
  spec: Spec,
  { tools, config, environment }: RequestedSettings,
  facts: RuntimeFacts,
): Finding[] {
  const known = spec === 'builtin' ? ownSupport : runtimeSpecs[spec]
  // Servers of a remote runtime cannot reach this service as programs of sessions do.
  const isOut = facts.isRemote && known.mcpServers === 'all'
  const support: SettingSupport = isOut ? { ...known, mcpServers: 'none' } : known
  const sandboxFinding = facts.sandboxProblem(config)
  return [
    ...(environment === undefined ? [] : environmentFindings(support, environment, facts)),
    ...(spec === 'claude_managed_agents' ? [] : systemFindings(environment)),
    ...toolFindings({ support, tools, config, ...(spec === 'builtin' && { ownTools: facts }) }),
    ...serverFindings({ support, tools, config }),
    ...(spec === 'builtin' ? [] : ownSettings.flatMap(name => settingFindings(name, config[name]))),
    ...(spec === 'cursor' || spec === 'a2a' ? settingFindings('approvals', config['approvals']) : []),
    ...(spec !== 'builtin' && isGiven(config['output_schema']) ? [noTypedResults] : []),
    ...(sandboxFinding ? [sandboxFinding] : []),
    ...agentFindings(spec, config),
  ]
}

/**
 * Packages and network of an environment of the Managed Agents API: sandboxes have those of `config.sandbox.setup` and
 * `config.network`. The defaults of `environment.config`, which every stored environment has, are no request.
 */
function systemFindings(environment: RequestedSettings['environment'] = {}): Finding[] {
  const { type, networking, packages } = recordOf(environment['config'])
  const hasPackages = Object.values(recordOf(packages)).some(list => Array.isArray(list) && list.length > 0)
  const unused: Readonly<Record<string, boolean>> = {
    networking: isGiven(environment['networking']),
    packages: isGiven(environment['packages']),
    'config.type': type === 'self_hosted',
    'config.networking': isGiven(networking) && recordOf(networking)['type'] !== 'unrestricted',
    'config.packages': hasPackages,
  }
  return Object.keys(unused).flatMap(name => (unused[name] ? [{ field: `environment.${name}` }] : []))
}

/** External runtimes call models and manage the context themselves. */
const ownSettings = ['model_settings', 'context'] as const

const settingFindings = (group: string, settings: unknown): Finding[] =>
  Object.entries(recordOf(settings)).flatMap(([name, value]) =>
    isGiven(value) ? [{ field: `config.${group}.${name}` }] : [],
  )

/** A share of a budget has no effect without one. A session gets its budget from its agent. */
function agentFindings(spec: Spec, config: RequestedSettings['config']): Finding[] {
  const entries = subagentEntries(config)
  if (entries.length > 0 && spec !== 'builtin')
    return [{ field: 'config.agents', problem: 'is not supported: only agents of the built-in runtime call agents' }]
  if (isGiven(config['session_max_budget'])) return []
  return entries.flatMap(({ budgetShare }, at) =>
    budgetShare === undefined ? [] : [{ field: `config.agents[${at}].budget_share` }],
  )
}

const noTypedResults: Finding = {
  field: 'config.output_schema',
  problem: 'is not supported: the runtime cannot return typed results',
}

function environmentFindings(
  support: SettingSupport,
  environment: NonNullable<RequestedSettings['environment']>,
  { canClone, isRemote = false }: RuntimeFacts,
): Finding[] {
  if (support.clones && !isRemote) return cloneFindings(environment, canClone)
  const isUsed = (name: EnvironmentField) => !support.clones && support.environment.includes(name)
  const { repository, source } = environment
  const hasRepository = isGiven(repository) || (isRecord(source) && isGiven(source['repository']))
  return (Object.keys(checks) as EnvironmentField[]).flatMap(name => {
    const value = environment[name]
    if (!isGiven(value)) return []
    const field = `environment.${name}`
    const problem = isUsed(name) ? checks[name](value) : undefined
    if (problem !== undefined) return [{ field, problem }]
    // A branch without a repository has no effect.
    return isUsed(name) && hasRepository ? [] : [{ field }]
  })
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

/** Problem of a value; undefined for a valid one. */
const checks: Readonly<Record<EnvironmentField, (value: unknown) => string | undefined>> = {
  repository: value => (isUrl(value) ? undefined : 'must be the URL of a repository, such as https://github.com/o/r'),
  ref: value =>
    typeof value === 'string' && value.trim() !== '' ? undefined : 'must be the name of a branch, tag or commit',
  auto_create_pr: value => (typeof value === 'boolean' ? undefined : 'must be true or false'),
}

const schemes: readonly string[] = ['https:', 'http:', 'ssh:', 'git:']

const isUrl = (value: unknown): boolean =>
  typeof value === 'string' && URL.canParse(value) && schemes.includes(new URL(value).protocol)
