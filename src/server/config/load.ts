import { statSync } from 'node:fs'
import { isLoopbackHost } from '../platform/addresses.ts'
import { isEncryptionKey } from '../platform/encryption-key.ts'
import { parseAllow } from '../platform/outbound.ts'
import type { ToolSettings } from './agent-settings.ts'
import { approvalLinksOfFile } from './approval-links-of-file.ts'
import type { Config, Environment, Limits, Overrides } from './config.ts'
import { dataDirOf, nonBlank } from './data-dir.ts'
import { type ConfigFile, emptyFile, type Place, type Problem, readConfigFile } from './file.ts'
import { gitHostsOfFile } from './git-hosts-of-file.ts'
import { harnessesOfFile } from './harnesses-of-file.ts'
import { hooksOfFile } from './hooks-of-file.ts'
import { logSinksOfFile } from './log-sinks-of-file.ts'
import { loggingOfFile } from './logging-of-file.ts'
import { mcpServersOfFile } from './mcp-servers-of-file.ts'
import { keysOfEnvironment, modelsOfEnvironment } from './models-of-environment.ts'
import { modelsOfFile } from './models-of-file.ts'
import { pricesOfFile } from './prices-of-file.ts'
import { proxyOfFile } from './proxy-of-file.ts'
import { retentionOfFile } from './retention-of-file.ts'
import { routerOfFile } from './router-of-file.ts'
import { sandboxOfFile } from './sandbox-of-file.ts'
import { settingSources } from './setting-sources.ts'
import { oidcOfFile } from './sign-in-of-file.ts'
import { metricsOfFile, telemetryOfFile } from './telemetry-of-file.ts'
import {
  bucketWarnings,
  gitHostWarnings,
  harnessWarnings,
  hookWarnings,
  logSinkWarnings,
  mcpServerWarnings,
  modelWarnings,
  signInWarnings,
  webSearchWarnings,
} from './warnings.ts'
import { webSearchOfFile } from './web-search-of-file.ts'
import { workspacesOfFile } from './workspaces-of-file.ts'

/** Invalid configuration. `message` lists every problem, one per line, and contains no secret. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
  }
}

/** Keys that are published in documentation. */
const publishedKeys = new Set(['sk-local', 'sk-1234', 'changeme', 'secret', 'password', 'test'])
const minKeyLength = 16
/** Time for a database that starts together with the service, as in a compose file. */
const databaseWaitMs = 60_000

/** Above the number of processors of any machine. */
const maxWorkers = 256

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
const roles = ['all', 'api', 'worker'] as const

/** Reads the configuration. Throws ConfigError with all problems at once. Gaps: section 2. */
export function loadConfig({ env, overrides = {} }: { env: Environment; overrides?: Overrides }): Config {
  const problems: Problem[] = []
  const warnings: string[] = []
  const report = (text: string, place?: Place) => void problems.push({ text, place })
  const filePath = overrides.configFile ?? nonBlank(env['SWITCHYARD_CONFIG'])
  const warn = (text: string, place: Place) => void warnings.push(printed({ text, place }, filePath))
  const file = filePath === undefined ? emptyFile : readConfigFile({ path: filePath, env, report, warn })

  const masterKey = checkedKey({ file, env, report, warnings })
  const demo = file.value.demo ?? true
  const environmentKeys = keysOfEnvironment(env)
  const keyOf = (provider: string) => environmentKeys[provider]
  const { model_list: models } = file.value
  const { deployments, implicitAllow } = models
    ? { deployments: modelsOfFile({ models, place: file.place, keyOf, demo, report }), implicitAllow: [] }
    : modelsOfEnvironment({ env, report })
  const listed = parseAllow(file.value.outbound?.allow ?? [], (index, text) =>
    report(text, file.place(['outbound', 'allow', index])),
  )
  const outboundAllow = [...listed, ...implicitAllow]
  const runtimeHarnesses = harnessesOfFile({ file, report })
  const mcpServers = mcpServersOfFile({
    entries: file.value.mcp_servers ?? [],
    allowUnrestricted: file.value.limits?.allow_unrestricted_egress ?? false,
    place: file.place,
    report,
  })
  const hooks = hooksOfFile({ entries: file.value.hooks ?? [], place: file.place, report })
  const logSinks = logSinksOfFile({ entries: file.value.log_sinks, place: file.place, report, warn })
  // Includes names of invalid entries, so that a fallback to one is not reported as a second problem.
  const named = models?.flatMap(entry => entry?.model_name ?? []) ?? deployments.map(({ alias }) => alias)
  const workspaces = workspacesOfFile({ file, report })
  const webSearch = webSearchOfFile({ file, report })
  const gitHosts = gitHostsOfFile({ file, report })
  const oidc = oidcOfFile({ file, hasMasterKey: masterKey !== undefined, report })
  const config: Config = {
    ...address({ env, overrides, masterKey, report }),
    ...proxyOfFile({ file, report }),
    console: hasConsole(file, overrides),
    approvalLinks: approvalLinksOfFile({ file, report }),
    masterKey,
    oidc,
    databaseUrl: checkedDatabase(env, report),
    databaseWaitMs: overrides.noWait ? 0 : databaseWaitMs,
    dataDir: dataDirOf({ env, overrides }),
    encryptionKeys: checkedEncryptionKeys({ env, report, warnings }),
    role: oneOf({ env, name: 'SWITCHYARD_ROLE', allowed: roles, fallback: 'all', report }),
    workers: workersOf({ env, report }),
    logLevel: oneOf({ env, name: 'LOG_LEVEL', allowed: logLevels, fallback: 'info', report }),
    drainDelayMs: milliseconds({ env, name: 'SWITCHYARD_DRAIN_DELAY_MS', fallback: 5_000, report }),
    deployments,
    modelsFrom: models ? 'file' : 'environment',
    environmentKeys,
    demo,
    router: routerOfFile({
      file,
      aliases: demo ? [...named, 'demo'] : named,
      report,
      warn: text => warnings.push(text),
    }),
    prices: pricesOfFile({ file, path: filePath, report }),
    runtimeHarnesses,
    mcpServers,
    requestLog: loggingOfFile({ file, report }),
    metrics: metricsOfFile({ file, report }),
    telemetry: telemetryOfFile({ file, report }),
    outboundAllow,
    limits: limitsOf(file),
    toolLimits: toolLimitsOf(file),
    webSearch,
    gitHosts,
    ...changedAt(filePath),
    retention: retentionOfFile({ file, report }),
    workspaces,
    sandbox: sandboxOfFile({ file, env, report }),
    responseStore: responseStoreOf({ file, report }),
    hooks,
    logSinks,
    sources: settingSources({ file, env, overrides }),
    file: filePath,
    isFileEmpty: file.isEmpty ?? false,
    warnings: [
      ...(file.isEmpty ? [`configuration file ${filePath} is empty; using only environment variables`] : []),
      ...warnings,
      ...modelWarnings(deployments, outboundAllow),
      ...harnessWarnings(runtimeHarnesses, outboundAllow),
      ...mcpServerWarnings(mcpServers, outboundAllow),
      ...hookWarnings(hooks, outboundAllow),
      ...logSinkWarnings(logSinks, outboundAllow),
      ...bucketWarnings(workspaces.bucket, outboundAllow),
      ...webSearchWarnings(webSearch, outboundAllow),
      ...signInWarnings(oidc, outboundAllow),
      ...gitHostWarnings(gitHosts, outboundAllow),
    ],
  }
  problems.sort((a, b) => (a.place?.line ?? 0) - (b.place?.line ?? 0))
  if (problems.length > 0) throw new ConfigError(problems.map(problem => printed(problem, filePath)))
  return deepFreeze(config)
}

const hasConsole = ({ value }: ConfigFile, { noConsole = false }: Overrides): boolean =>
  !noConsole && (value.general_settings?.console ?? true)

function changedAt(path: string | undefined): Pick<Config, 'configuredAt'> {
  const found = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
  return found ? { configuredAt: Math.floor(found.mtimeMs / 1_000) } : {}
}

function responseStoreOf({
  file,
  report,
}: {
  file: ConfigFile
  report: (text: string, place: Place) => void
}): Config['responseStore'] {
  const store = file.value.responses?.store ?? 'client'
  if (store === 'client' || store === 'never') return store
  report('responses.store must be client or never', file.place(['responses', 'store']))
  return 'client'
}

function limitsOf({ value: { limits } }: ConfigFile): Limits {
  return {
    maxStreams: limits?.max_streams ?? 1000,
    maxSessions: limits?.max_sessions ?? 100,
    sessionEvents: limits?.session_events ?? 1_000_000,
    sessionBytes: limits?.session_bytes ?? 1_000_000_000,
    maxLoopDelayMs: limits?.max_loop_delay_ms ?? 50,
    reserveBytesPerToken: limits?.reserve_bytes_per_token ?? 1,
    reserveServerToolCalls: limits?.reserve_server_tool_calls ?? 10,
    assumedOutputTokensPerSecond: limits?.assumed_output_tokens_per_second ?? 200,
    maxBackgroundResponses: limits?.max_background_responses ?? 50,
    backgroundQueuedPerKey: limits?.background_queued_per_key ?? 100,
    responseCacheBytes: limits?.response_cache_bytes ?? 1_000_000_000,
    filesBytes: limits?.files_bytes ?? 10_000_000_000,
    batchCalls: limits?.batch_calls ?? 8,
    reservationMs: (limits?.reservation_s ?? 900) * 1000,
    sandboxCpus: limits?.sandbox_cpus,
    allowUnrestrictedEgress: limits?.allow_unrestricted_egress ?? false,
  }
}

const toolLimitsOf = ({ value: { limits } }: ConfigFile): ToolSettings => ({
  resultChars: limits?.tool_result_chars ?? 65_536,
  previewChars: limits?.tool_preview_chars ?? 16_384,
})

interface Reading {
  readonly env: Environment
  readonly report: (text: string, place?: Place) => void
}

/**
 * Returns the master key of the file or the environment. Reports a blank one in the file: it would disable
 * authentication.
 */
function checkedKey({ file, env, report, warnings }: Reading & { file: ConfigFile; warnings: string[] }) {
  const fromFile = file.value.general_settings?.master_key
  const place = file.place(['general_settings', 'master_key'])
  if (fromFile !== undefined && fromFile.trim() === '') report('general_settings.master_key is empty', place)
  const key = fromFile ?? nonBlank(env['GATEWAY_MASTER_KEY'])
  if (key === undefined) {
    warnings.push('authentication is off: set GATEWAY_MASTER_KEY (or general_settings.master_key) to require a key')
    return undefined
  }
  if (!/^[\x21-\x7e]*$/.test(key)) {
    const name = fromFile === undefined ? 'GATEWAY_MASTER_KEY' : 'general_settings.master_key'
    report(
      `${name} contains a blank or a character that is not allowed in an HTTP header`,
      fromFile === undefined ? undefined : place,
    )
  }
  if (publishedKeys.has(key)) warnings.push('the master key is a published sample; change it')
  else if (key.length < minKeyLength) warnings.push(`the master key is weak: use ${minKeyLength} characters or more`)
  return key
}

function address({
  env,
  overrides,
  masterKey,
  report,
}: Reading & { overrides: Overrides; masterKey: string | undefined }) {
  const host = overrides.host ?? nonBlank(env['HOST']) ?? (masterKey === undefined ? '127.0.0.1' : '0.0.0.0')
  const insecureNoAuth = overrides.insecureNoAuth ?? false
  if (masterKey === undefined && !isLoopbackHost(host) && !insecureNoAuth) {
    report(
      `cannot listen on ${host} without a master key: any client that reaches the port could use your provider keys; ` +
        'set GATEWAY_MASTER_KEY, or pass --insecure-no-auth to allow this',
    )
  }
  const text = nonBlank(env['PORT'])
  const port = overrides.port ?? (text === undefined ? 4000 : /^\d{1,5}$/.test(text) ? Number(text) : -1)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) report('PORT must be a whole number from 0 to 65535')
  return { host, port, insecureNoAuth }
}

function checkedDatabase(env: Environment, report: Reading['report']): string | undefined {
  const url = nonBlank(env['DATABASE_URL'])
  if (url !== undefined && !/^postgres(ql)?:\/\//.test(url))
    report('DATABASE_URL must start with postgres:// or postgresql://')
  return url
}

/** Returns the encryption keys, which all replicas must share. */
function checkedEncryptionKeys({ env, report, warnings }: Reading & { warnings: string[] }): readonly string[] {
  const text = nonBlank(env['SWITCHYARD_ENCRYPTION_KEY'])
  if (text === undefined) {
    if (nonBlank(env['DATABASE_URL']))
      warnings.push('SWITCHYARD_ENCRYPTION_KEY is not set: replicas do not share the key file of this data folder')
    return []
  }
  const keys = text.split(',').map(key => key.trim())
  if (!keys.every(isEncryptionKey)) {
    report(
      'SWITCHYARD_ENCRYPTION_KEY must be 32 bytes in base64, or several such keys separated by commas; ' +
        'create one with openssl rand -base64 32',
    )
  }
  return keys
}

interface Choice<T extends string> extends Reading {
  readonly name: string
  readonly allowed: readonly T[]
  readonly fallback: T
}

function oneOf<T extends string>({ env, name, allowed, fallback, report }: Choice<T>): T {
  const text = nonBlank(env[name])
  const found = allowed.find(value => value === text)
  if (text !== undefined && found === undefined) report(`${name} must be one of ${allowed.join(', ')}`)
  return found ?? fallback
}

function milliseconds({ env, name, fallback, report }: Reading & { name: string; fallback: number }): number {
  const text = nonBlank(env[name])
  if (text === undefined) return fallback
  if (!/^\d{1,6}$/.test(text)) report(`${name} must be a whole number of milliseconds`)
  return Number(text)
}

function workersOf({ env, report }: Reading): number {
  const text = nonBlank(env['WORKERS'])
  if (text === undefined) return 1
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > maxWorkers) {
    report(`WORKERS must be a whole number from 1 to ${maxWorkers}, not ${JSON.stringify(text.slice(0, 20))}`)
  }
  return count
}

const printed = ({ text, place }: Problem, path: string | undefined): string =>
  place === undefined ? text : `${path}:${place.line}: ${text}`

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) deepFreeze(part)
  }
  return value
}
