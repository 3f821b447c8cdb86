import type { Deployment, Protocol } from '../config/config.ts'
import { limitsOf } from './prices/model-limits.ts'
import { periodAt, type TableModel, tableProvider } from './prices/price-table.ts'

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
