import { parse, stringify } from 'yaml'
import { isPrivateHost } from '../platform/addresses.ts'
import { AppError } from '../platform/errors.ts'
import { isRecord, type Json, recordOf } from '../platform/json.ts'
import { mcpServersOf } from './mcp.ts'
import { type ConvertedModel, convertModel } from './model.ts'
import { createReport, type ImportFinding, type ImportReport } from './report.ts'
import { routerOf } from './router.ts'
import { createSecretReferences, type SecretReferences } from './secrets.ts'
import { reportOthers } from './settings.ts'

/** Configuration of this service for a configuration of LiteLLM. */
export interface ConvertedConfig {
  /** YAML without credentials. */
  readonly text: string
  readonly findings: readonly ImportFinding[]
}

const head = `# Converted from a configuration of LiteLLM. Read docs/guides/from-litellm.md for what to check.\n`

/** Converts LiteLLM's configuration file. Throws `invalid` for text that is not a mapping in YAML. */
export function convertConfig(source: string): ConvertedConfig {
  const given = parsed(source)
  const report = createReport()
  const secrets = createSecretReferences(report)
  const [router, library, general] = ['router_settings', 'litellm_settings', 'general_settings'].map(name =>
    recordOf(given[name]),
  ) as [Json, Json, Json]
  const models = modelsOf(given, { router, library, report, secrets })
  const routerBlock = routerOf({ router, library, models, report })
  const servers = mcpServersOf(given['mcp_servers'], { report, secrets })
  const converted = {
    ...generalOf(general, { report, secrets }),
    model_list: models,
    ...(Object.keys(routerBlock).length > 0 && { router: routerBlock }),
    ...(servers.length > 0 && { mcp_servers: servers }),
    ...outboundOf(models, servers, report),
  }
  reportBlocks(given, report)
  return { text: `${head}${stringify(converted, { lineWidth: 0 })}`, findings: report.findings }
}

function parsed(source: string): Json {
  let value: unknown
  try {
    value = parse(source)
  } catch (error) {
    const [problem] = (error instanceof Error ? error.message : String(error)).split('\n')
    throw new AppError('invalid_request', `the file is not valid YAML: ${problem}`)
  }
  if (!isRecord(value)) throw new AppError('invalid_request', 'the file must be a mapping with model_list')
  return value
}

interface Context {
  readonly report: ImportReport
  readonly secrets: SecretReferences
}

function modelsOf(
  given: Json,
  { router, library, ...context }: Context & { readonly router: Json; readonly library: Json },
): ConvertedModel[] {
  const list: readonly unknown[] = Array.isArray(given['model_list']) ? given['model_list'] : []
  const stored: readonly unknown[] = Array.isArray(given['credential_list']) ? given['credential_list'] : []
  const credentials = new Map(
    stored.map(recordOf).map(entry => [String(entry['credential_name']), recordOf(entry['credential_values'])]),
  )
  const timeouts = timeoutsOf(router, library, context.report)
  const models = list.flatMap((entry, index) => convertModel(entry, index, { ...context, credentials, timeouts }) ?? [])
  return [...models, ...aliasesOf(router, models, context.report)]
}

/** A timeout of all models becomes one of each. */
function timeoutsOf(router: Json, library: Json, report: ImportReport): Record<string, number> {
  const given = [
    ['timeout', 'litellm_settings.request_timeout', library['request_timeout']],
    ['timeout', 'router_settings.timeout', router['timeout']],
    ['stream_timeout', 'router_settings.stream_timeout', router['stream_timeout']],
  ] as const
  const found: Record<string, number> = {}
  for (const [name, setting, value] of given) {
    if (typeof value !== 'number' || value <= 0) continue
    found[name] = value
    report.carried(setting, `${name} of each model without its own`)
  }
  return found
}

/** A second name of a model becomes entries of their own. */
function aliasesOf(router: Json, models: readonly ConvertedModel[], report: ImportReport): ConvertedModel[] {
  return Object.entries(recordOf(router['model_group_alias'])).flatMap(([alias, target]) => {
    const name = isRecord(target) ? target['model'] : target
    const found = models.filter(({ model_name }) => model_name === name)
    const setting = `router_settings.model_group_alias.${alias}`
    if (found.length === 0) report.unsupported(setting, `${String(name)} is not a model of the file`, 'add the model')
    else report.carried(setting, `entries of model_list with the name ${alias}`)
    return found.map(({ params }) => ({ model_name: alias, params }))
  })
}

function generalOf(general: Json, { report, secrets }: Context): Json {
  reportOthers('general_settings', general, { report, read: ['master_key'] })
  const { master_key: key } = general
  if (typeof key !== 'string') return {}
  report.carried('general_settings.master_key', 'general_settings.master_key')
  const place = { setting: 'general_settings.master_key', variable: 'GATEWAY_MASTER_KEY' }
  return { general_settings: { master_key: secrets.moved(key, place) } }
}

/** Private addresses, and plain http, need an entry of their own here. */
function outboundOf(models: readonly ConvertedModel[], servers: readonly Json[], report: ImportReport): Json {
  const addresses = [...models.map(({ params }) => params['api_base']), ...servers.map(({ url }) => url)]
  const hosts = addresses.flatMap(address => {
    const url = typeof address === 'string' ? URL.parse(address) : null
    if (!url || !/^https?:$/.test(url.protocol)) return []
    const isBlocked = url.protocol === 'http:' || isPrivateHost(url.hostname.replace(/^\[|\]$/g, ''))
    return isBlocked ? [`${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`] : []
  })
  const allow = [...new Set(hosts)]
  if (allow.length === 0) return {}
  report.approximated(
    'outbound.allow',
    `private addresses and plain http are blocked unless they are listed: ${allow.join(', ')}`,
    'remove what the service must not reach',
  )
  return { outbound: { allow } }
}

const blocks: Readonly<Record<string, readonly [detail: string, next: string]>> = {
  environment_variables: [
    'variables are not part of the file',
    'export them in the environment of the service; their values are not copied',
  ],
  guardrails: ['guardrails do not run here', 'check requests and answers with hooks'],
  callback_settings: ['callbacks do not run here', 'export calls with log_sinks'],
  vector_store_registry: ['there are no vector stores', 'reach them by an MCP server'],
  search_tools: ['search is configured once', 'set web_search'],
  files_settings: ['files have their own settings', 'see docs/endpoints.md'],
}

const readBlocks = new Set([
  'model_list',
  'router_settings',
  'litellm_settings',
  'general_settings',
  'mcp_servers',
  'credential_list',
])

function reportBlocks(given: Json, report: ImportReport): void {
  for (const name of Object.keys(given)) {
    if (readBlocks.has(name)) continue
    const known = Object.hasOwn(blocks, name) ? blocks[name] : undefined
    const [detail, next] = known ?? ['has no counterpart', 'check whether you need it']
    report.unsupported(name, detail, next)
  }
}
