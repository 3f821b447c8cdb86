import type { ApiSpec } from '../../../contract/runtimes.ts'
import { type EnvironmentField, ownSupport, runtimeSpecs, type SettingSupport } from '../../config/runtime-specs.ts'
import { isRecord, recordOf, recordsOf } from '../../platform/json.ts'
import { cloneFindings } from '../repositories/clone-findings.ts'
import type { Finding, RequestedSettings } from '../runtime.ts'
import { toolFindings } from './tool-findings.ts'

type Spec = ApiSpec | 'builtin'

/** What the settings depend on besides the protocol. */
interface ServerFacts {
  /** True while the tool `web_search` exists. */
  readonly canSearch: boolean
  /** Returns a problem of `config.network` with the runtime. */
  readonly networkProblem: (config: RequestedSettings['config']) => Finding | undefined
  /** Why this server clones no repositories; undefined when it does. */
  readonly noClones?: string | undefined
  /** True for a runtime at an address, which does not work in a session's files. */
  readonly isElsewhere?: boolean
}

/** Lists the settings of an agent and a session that runtimes of a protocol do not support. Rulings: 1. */
export function findingsFor(
  spec: Spec,
  { tools, config, environment }: RequestedSettings,
  server: ServerFacts,
): Finding[] {
  const support = spec === 'builtin' ? ownSupport : runtimeSpecs[spec]
  const servers = recordsOf(config['mcp_servers'])
  const networkFinding = server.networkProblem(config)
  return [
    ...(environment === undefined ? [] : environmentFindings(support, environment, server)),
    ...toolFindings({ support, tools, servers, ...(spec === 'builtin' && { ownTools: server }) }),
    ...(spec === 'builtin' ? [] : ownSettings.flatMap(name => settingFindings(name, config[name]))),
    ...(spec === 'cursor' ? settingFindings('approvals', config['approvals']) : []),
    ...(spec !== 'builtin' && isGiven(config['output_schema']) ? [noTypedResults] : []),
    ...(networkFinding ? [networkFinding] : []),
    ...(servers.length > 0 && !support.mcpServers ? [noServers] : []),
  ]
}

/** External runtimes call models and manage the context themselves. */
const ownSettings = ['model_settings', 'context'] as const

const settingFindings = (group: string, settings: unknown): Finding[] =>
  Object.entries(recordOf(settings)).flatMap(([name, value]) =>
    isGiven(value) ? [{ field: `config.${group}.${name}` }] : [],
  )

const noServers: Finding = {
  field: 'config.mcp_servers',
  problem: 'is not supported: the runtime does not call MCP servers',
}

const noTypedResults: Finding = {
  field: 'config.output_schema',
  problem: 'is not supported: the runtime cannot return typed results',
}

function environmentFindings(
  support: SettingSupport,
  environment: NonNullable<RequestedSettings['environment']>,
  { noClones, isElsewhere = false }: Pick<ServerFacts, 'noClones' | 'isElsewhere'>,
): Finding[] {
  if (support.clones && !isElsewhere) return cloneFindings(environment, noClones)
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
