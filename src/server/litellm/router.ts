import { isRecord, type Json } from '../platform/json.ts'
import type { ConvertedModel } from './model.ts'
import type { ImportReport } from './report.ts'
import { reportOthers } from './settings.ts'

interface Blocks {
  readonly router: Json
  readonly library: Json
  readonly models: readonly ConvertedModel[]
  readonly report: ImportReport
}

type Table = Record<string, readonly string[]>

const tables = {
  fallbacks: 'fallbacks',
  context_window_fallbacks: 'context_window_fallbacks',
  content_policy_fallbacks: 'policy_fallbacks',
} as const

const readInRouter = [
  ...Object.keys(tables),
  'num_retries',
  'allowed_fails',
  'cooldown_time',
  'default_fallbacks',
  'routing_strategy',
  'routing_strategy_args',
  'model_group_alias',
  'timeout',
  'stream_timeout',
]
const readInLibrary = [...Object.keys(tables), 'num_retries', 'allowed_fails', 'default_fallbacks', 'request_timeout']

/** Returns the block `router` for the settings of LiteLLM's router and library. */
export function routerOf({ router, library, models, report }: Blocks): Json {
  reportOthers('router_settings', router, { report, read: readInRouter })
  reportOthers('litellm_settings', library, { report, read: readInLibrary })
  reportStrategy(router, report)
  // The router's own settings win over those of the library.
  const numberOf = (name: string): number | undefined => {
    const [block, value] = name in router ? ['router_settings', router[name]] : ['litellm_settings', library[name]]
    if (typeof value !== 'number') return undefined
    report.carried(`${block}.${name}`, 'block router')
    return value
  }
  const retries = numberOf('num_retries')
  const failures = numberOf('allowed_fails')
  const seconds = numberOf('cooldown_time')
  const cooldown = {
    // LiteLLM starts the cooldown after more failures than this.
    ...(failures !== undefined && { failures: failures + 1 }),
    ...(seconds !== undefined && seconds > 0 && { seconds }),
  }
  const fallbacks = tablesOf({ router, library, models, report })
  return {
    ...(retries !== undefined && { retries }),
    ...(Object.keys(cooldown).length > 0 && { cooldown }),
    ...fallbacks,
  }
}

function reportStrategy({ routing_strategy: strategy }: Json, report: ImportReport): void {
  if (strategy === undefined) return
  const setting = 'router_settings.routing_strategy'
  if (strategy === 'simple-shuffle') report.carried(setting, 'deployments share calls by weight, rpm and tpm')
  else
    report.approximated(
      setting,
      `${String(strategy)} is not available; deployments share calls by weight, rpm and tpm`,
      'set weight of the deployments',
    )
}

function tablesOf({ router, library, models, report }: Blocks): Record<string, Table> {
  const found: Record<string, Table> = {}
  for (const [name, own] of Object.entries(tables)) {
    const table = { ...tableOf(library[name]), ...tableOf(router[name]) }
    if (Object.keys(table).length === 0) continue
    found[own] = table
    report.carried(name in router ? `router_settings.${name}` : `litellm_settings.${name}`, `router.${own}`)
  }
  const defaults = router['default_fallbacks'] ?? library['default_fallbacks']
  if (!Array.isArray(defaults)) return found
  const targets = defaults.filter(target => typeof target === 'string')
  const names = [...new Set(models.map(({ model_name }) => model_name))]
  const rest = names
    .filter(name => !found['fallbacks']?.[name] && !name.includes('*'))
    .map(name => [name, targets.filter(target => target !== name)] as const)
  found['fallbacks'] = { ...Object.fromEntries(rest), ...found['fallbacks'] }
  report.approximated('default_fallbacks', 'each model without fallbacks gets these', 'add them to new models as well')
  return found
}

/** LiteLLM lists one mapping for each model. */
function tableOf(given: unknown): Table {
  const entries = (Array.isArray(given) ? given : [given]).filter(isRecord).flatMap(Object.entries)
  return Object.fromEntries(
    entries.map(([from, to]) => [from, (Array.isArray(to) ? to : [to]).filter(target => typeof target === 'string')]),
  )
}
