import type { Deployment } from '../../config/deployments.ts'
import type { Protocol } from '../../config/protocols.ts'
import { notFound } from '../../platform/errors.ts'
import type { DeployedModel } from '../core/call.ts'
import { limitsOf } from '../pricing/price-book.ts'
import { isListed, periodAt, type TableModel, tableProvider } from '../pricing/price-table.ts'
import { hasUnitPrice } from '../pricing/unit-prices.ts'

/** Models listed at most, of Claude and of others each. Models that are not listed can be called as well. */
const maxShown = 12

/** Providers of which only matching models are listed: others may be outdated, or need another name. */
const shownOf: Readonly<Record<string, RegExp>> = {
  bedrock: /^(global|amazon)\./,
  openrouter: /^(anthropic|google|openai)\//,
}

/** Providers whose models have names that the operator chose. */
const unshownProviders: ReadonlySet<string> = new Set(['azure'])

/** Models for other purposes than conversations, and variants of models: dated, older, or faster at a higher price. */
const unshown =
  /audio|computer-use|deep-research|embed|fast|guard|image|instruct|live|moderation|realtime|search|sonic|transcribe|tts|vision|ft[:-]|-\d{4}-\d\d-\d\d|^claude-\d|:/

/** Models that a protocol can call, where a provider serves models of several vendors. */
const callableBy: Partial<Record<Protocol, RegExp>> = {
  'vertex-anthropic': /claude/,
  'bedrock-invoke': /claude/,
  gemini: /gemini/,
}

/**
 * Returns the models that stand for `provider/*` in the list of models: conversation models of the price table, Claude
 * first, since Claude Code uses no other, then the newest version first. The table has no dates, so the version is read
 * from the name.
 */
export function knownModels({ provider, protocols }: Pick<Deployment, 'provider' | 'protocols'>): readonly string[] {
  if (unshownProviders.has(provider)) return []
  const shown = shownOf[provider]
  const callable = callableBy[protocols[0]]
  const now = new Date()
  const current = (tableProvider(provider)?.models ?? []).filter(
    model =>
      isDescribed(model, now) &&
      model.deprecated !== true &&
      !unshown.test(plainId(model.id)) &&
      (shown?.test(model.id) ?? true) &&
      (callable?.test(model.id) ?? true),
  )
  const ids = current.map(({ id }) => id).sort((a, b) => compare(versionOf(b), versionOf(a)))
  const isClaude = (id: string) => id.includes('claude')
  return [...ids.filter(isClaude).slice(0, maxShown), ...ids.filter(id => !isClaude(id)).slice(0, maxShown)]
}

/** Bedrock's names end in `:0`, which does not denote a variant. */
const plainId = (id: string): string => id.replace(/:0$/, '')

/** False for a model without a price or context window in the table: it is outdated, or not for conversations. */
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

/** Deployments by the model names that clients send. */
export interface Catalogue {
  readonly deployments: readonly Deployment[]
  /** Returns all deployments of `model`, each with its own name for it. Throws `not_found` for an unknown model. */
  resolve(model: string): readonly DeployedModel[]
  has(model: string): boolean
  /** Returns the full names (`provider/model`) under which configured providers serve a bare name. */
  namesOf(bare: string): readonly string[]
}

/** Creates the catalogue. Exact names come first, then the longest matching `prefix*`. Source: Gateway, section 3. */
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

/** Returns `openai/gpt-5.5` for `gpt-5.5` if the deployment serves it: by alias, or by a wildcard. */
function nameAt({ alias, provider, upstreamModel }: Deployment, bare: string): string | undefined {
  if (alias.endsWith(`/${bare}`)) return alias
  if (!alias.endsWith('/*') || !upstreamModel.endsWith('*')) return undefined
  const name = `${upstreamModel.slice(0, -1)}${bare}`
  const isKnown = isListed(provider, name) || hasUnitPrice(provider, name)
  return isKnown ? `${alias.slice(0, -1)}${bare}` : undefined
}

const upstreamName = ({ alias, upstreamModel }: Deployment, model: string): string =>
  upstreamModel.endsWith('*') ? upstreamModel.slice(0, -1) + model.slice(alias.length - 1) : upstreamModel
