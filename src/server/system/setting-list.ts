import type { Setting } from '../../contract/settings.ts'
import type { Config } from '../config/config.ts'

interface Given {
  /** Its environment variable. */
  readonly variable?: string
  /** Its option of the command line. */
  readonly option?: string
}

/** Returns the settings in force. Only values that can hold no secret are copied: of lists with credentials, the names. */
export function settingList(config: Config): Setting[] {
  const { sources, limits, toolLimits, retention, router, sandbox, workspaces, prices, requestLog } = config
  const sourceOf = (name: string, { variable = name, option }: Given): Setting['source'] => {
    if (sources.file.includes(name)) return 'file'
    if (option !== undefined && sources.options.includes(option)) return 'option'
    return sources.environment.includes(variable) ? 'environment' : 'default'
  }
  const plain = (name: string, value: unknown, given: Given = {}): Setting => ({
    name,
    value: value ?? null,
    source: sourceOf(name, given),
    is_secret: false,
    is_set: value !== undefined && value !== null,
  })
  const secret = (name: string, isSet: boolean, given: Given = {}): Setting => ({
    name,
    value: null,
    source: sourceOf(name, given),
    is_secret: true,
    is_set: isSet,
  })
  return [
    plain('HOST', config.host, { option: 'host' }),
    plain('PORT', config.port, { option: 'port' }),
    secret('general_settings.master_key', config.masterKey !== undefined, { variable: 'GATEWAY_MASTER_KEY' }),
    secret('DATABASE_URL', sources.environment.includes('DATABASE_URL')),
    secret('SWITCHYARD_ENCRYPTION_KEY', config.encryptionKeys.length > 0),
    plain('SWITCHYARD_DATA_DIR', config.dataDir, { option: 'dataDir' }),
    plain('SWITCHYARD_ROLE', config.role),
    plain('WORKERS', config.workers),
    plain('SWITCHYARD_DRAIN_DELAY_MS', config.drainDelayMs),
    plain('LOG_LEVEL', config.logLevel),
    ...Object.keys(config.environmentKeys).map(provider => secret(`key of ${provider}`, true, { variable: '' })),
    plain('general_settings.public_url', withoutUser(config.publicUrl)),
    plain('general_settings.trust_proxy', config.trustProxy),
    plain('general_settings.approval_links', config.approvalLinks),
    plain('sign_in.oidc.issuer', config.oidc?.issuer),
    plain('model_list', [...new Set(config.deployments.map(({ alias }) => alias))].slice(0, maxNames)),
    plain('demo', config.demo),
    plain('router.retries', router.retries),
    plain('router.cooldown', router.cooldown),
    plain('router.sticky', router.sticky),
    plain('router.fallbacks', router.fallbacks),
    plain('prices.unknown', prices.unknown),
    plain(
      'runtime_harnesses',
      names(config.runtimeHarnesses, ({ alias }) => alias),
    ),
    plain(
      'mcp_servers',
      names(config.mcpServers, ({ serverName }) => serverName),
    ),
    plain(
      'hooks',
      names(config.hooks, ({ name }) => name),
    ),
    plain(
      'log_sinks',
      names(config.logSinks, ({ name }) => name),
    ),
    plain(
      'git_hosts',
      names(config.gitHosts, ({ host }) => host),
    ),
    plain('web_search.provider', config.webSearch?.provider),
    plain('outbound.allow', config.outboundAllow.slice(0, maxNames)),
    plain('sandbox.driver', sandbox.driver),
    plain('sandbox.image', sandbox.image === '' ? undefined : sandbox.image),
    plain('logging.requests', requestLog),
    plain('metrics.enabled', config.metrics.isEnabled),
    plain('metrics.public', config.metrics.isPublic),
    plain('metrics.listen', config.metrics.listen),
    plain('telemetry.otlp.endpoint', config.telemetry.otlp?.endpoint),
    secret('telemetry.otlp.headers', Object.keys(config.telemetry.otlp?.headers ?? {}).length > 0),
    plain('telemetry.content', config.telemetry.hasContent),
    plain('responses.store', config.responseStore),
    plain('workspaces.store', workspaces.writesBucket ? 's3' : 'database'),
    plain('workspaces.max_file_bytes', workspaces.fileBytes),
    plain('workspaces.max_bytes', workspaces.bytes),
    plain('workspaces.max_files', workspaces.files),
    ...Object.entries(limitNames).map(([name, key]) => plain(`limits.${name}`, limits[key])),
    plain('limits.reservation_s', limits.reservationMs / 1000),
    plain('limits.tool_result_chars', toolLimits.resultChars),
    plain('limits.tool_preview_chars', toolLimits.previewChars),
    ...Object.entries(retentionNames).map(([name, key]) => plain(`retention.${name}`, daysOf(retention[key]))),
  ]
}

const maxNames = 200

const names = <Item>(items: readonly Item[], nameOf: (item: Item) => string): string[] =>
  items.slice(0, maxNames).map(nameOf)

const limitNames = {
  max_streams: 'maxStreams',
  max_sessions: 'maxSessions',
  session_events: 'sessionEvents',
  session_bytes: 'sessionBytes',
  max_loop_delay_ms: 'maxLoopDelayMs',
  reserve_bytes_per_token: 'reserveBytesPerToken',
  reserve_server_tool_calls: 'reserveServerToolCalls',
  assumed_output_tokens_per_second: 'assumedOutputTokensPerSecond',
  response_cache_bytes: 'responseCacheBytes',
  files_bytes: 'filesBytes',
  sandbox_cpus: 'sandboxCpus',
  allow_unrestricted_egress: 'allowUnrestrictedEgress',
} as const

const retentionNames = {
  deleted_sessions: 'deletedSessionsMs',
  deliveries: 'deliveriesMs',
  sessions: 'sessionsMs',
  files: 'filesMs',
  bodies: 'bodiesMs',
  ledger: 'ledgerMs',
  audit: 'auditMs',
} as const

const daysOf = (ms: number | undefined): string => (ms === undefined ? 'never' : `${ms / 86_400_000}d`)

function withoutUser(address: string | undefined): string | undefined {
  const url = address === undefined ? null : URL.parse(address)
  return url === null || (url.username === '' && url.password === '') ? address : url.origin
}
