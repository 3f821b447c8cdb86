import type { Deployment, Protocol } from '../../config/config.ts'
import { notFound } from '../../platform/errors.ts'
import type { DeployedModel } from '../core/call.ts'
import { limitsOf } from '../pricing/price-book.ts'
import { isListed, periodAt, type TableModel, tableProvider } from '../pricing/price-table.ts'
import { hasUnitPrice } from '../pricing/unit-prices.ts'

/** Of Claude, and of all others; a person reads through as many. Every other model can be called all the same. */
const mostShown = 12

/** Providers of which only some models can be told to be current, or can be called as they are written here. */
const shownOf: Readonly<Record<string, RegExp>> = {
  bedrock: /^(global|amazon)\./,
  openrouter: /^(anthropic|google|openai)\//,
}

/** Whose models go by names that the operator chose. */
const unshownProviders: ReadonlySet<string> = new Set(['azure'])

/** Models for other things than conversations, and second names of models: dated, older, faster at a higher price. */
const unshown =
  /audio|computer-use|deep-research|embed|fast|guard|image|instruct|live|moderation|realtime|search|sonic|transcribe|tts|vision|ft[:-]|-\d{4}-\d\d-\d\d|^claude-\d|:/

/** The models that a protocol can speak to where a provider serves several makers. */
const spokenBy: Partial<Record<Protocol, RegExp>> = {
  'vertex-anthropic': /claude/,
  'bedrock-invoke': /claude/,
  gemini: /gemini/,
}

/**
 * What `provider/*` is shown as when a client lists models: those of the table that hold conversations, Claude first, as
 * Claude Code takes no other, then by version, newest first. The table has no dates, so versions are read from names.
 */
export function knownModels({ provider, protocols }: Pick<Deployment, 'provider' | 'protocols'>): readonly string[] {
  if (unshownProviders.has(provider)) return []
  const shown = shownOf[provider]
  const spoken = spokenBy[protocols[0]]
  const now = new Date()
  const current = (tableProvider(provider)?.models ?? []).filter(
    model =>
      isDescribed(model, now) &&
      model.deprecated !== true &&
      !unshown.test(plainId(model.id)) &&
      (shown?.test(model.id) ?? true) &&
      (spoken?.test(model.id) ?? true),
  )
  const ids = current.map(({ id }) => id).sort((a, b) => compare(versionOf(b), versionOf(a)))
  const isClaude = (id: string) => id.includes('claude')
  return [...ids.filter(isClaude).slice(0, mostShown), ...ids.filter(id => !isClaude(id)).slice(0, mostShown)]
}

/** Bedrock ends its names in `:0`, which is no variant. */
const plainId = (id: string): string => id.replace(/:0$/, '')

/** What has no price or no window in the table is old, or no model for conversations. */
function isDescribed(model: TableModel, time: Date): boolean {
  const period = periodAt(model, time)
  const window = model.context_window ?? limitsOf(model.id).contextWindow
  return period?.input_mtok !== undefined && period.output_mtok !== undefined && window !== undefined
}

function versionOf(id: string): readonly [major: number, minor: number] {
  const [, major = '0', minor = '0'] = /(?:^|[-/])(\d{1,2})(?:[.-](\d{1,2}))?(?=-|$|:|@)/.exec(id) ?? []
  return [Number(major), Number(minor)]
}

const compare = (a: readonly [number, number], b: readonly [number, number]): number => a[0] - b[0] || a[1] - b[1]

/** The deployments by the names that clients send. */
export interface Catalogue {
  readonly deployments: readonly Deployment[]
  /** All deployments that may serve `model`, each with its own name for it. Throws `not_found` for an unknown one. */
  resolve(model: string): readonly DeployedModel[]
  has(model: string): boolean
  /** The names, with a provider, under which configured providers have the model of a bare name. */
  namesOf(bare: string): readonly string[]
}

/** Exact names win; then the longest matching `prefix*`. Source: Gateway, section 3. */
export function createCatalogue(deployments: readonly Deployment[]): Catalogue {
  const groups = Map.groupBy(deployments, ({ alias }) => alias)
  const wildcards = [...groups.keys()].filter(alias => alias.endsWith('*')).sort((a, b) => b.length - a.length)

  const groupOf = (model: string): readonly Deployment[] | undefined => {
    const exact = model.endsWith('*') ? undefined : groups.get(model)
    if (exact) return exact
    const alias = wildcards.find(name => model.length >= name.length && model.startsWith(name.slice(0, -1)))
    return alias === undefined ? undefined : groups.get(alias)
  }

  return {
    deployments,
    has: model => groupOf(model) !== undefined,
    namesOf: bare => [...new Set(deployments.flatMap(deployment => nameAt(deployment, bare) ?? []))],
    resolve(model) {
      const group = groupOf(model)
      if (!group) throw notFound('model', model.slice(0, 200))
      return group.map(deployment => ({ deployment, upstreamModel: upstreamName(deployment, model) }))
    },
  }
}

/** `openai/gpt-5.5` for `gpt-5.5`, where the deployment has just that, or all models of a provider whose list has it. */
function nameAt({ alias, provider, upstreamModel }: Deployment, bare: string): string | undefined {
  if (alias.endsWith(`/${bare}`)) return alias
  if (!alias.endsWith('/*') || !upstreamModel.endsWith('*')) return undefined
  const name = `${upstreamModel.slice(0, -1)}${bare}`
  const isKnown = isListed(provider, name) || hasUnitPrice(provider, name)
  return isKnown ? `${alias.slice(0, -1)}${bare}` : undefined
}

const upstreamName = ({ alias, upstreamModel }: Deployment, model: string): string =>
  upstreamModel.endsWith('*') ? upstreamModel.slice(0, -1) + model.slice(alias.length - 1) : upstreamModel
