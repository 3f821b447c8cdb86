import type { Protocol } from '../../../config/config.ts'
import { isAbsent, type Json, recordOf, textIn } from '../../../platform/json.ts'

/**
 * Settings that the vocabulary of a canonical request lacks and that formats share, by OpenAI's names. They stand
 * under a symbol of the request, and only where its upstream's format has them.
 */
const carriedBy: Partial<Record<Protocol, readonly string[]>> = {
  'openai-chat': [
    ...['seed', 'presence_penalty', 'frequency_penalty', 'logit_bias', 'prediction', 'metadata'],
    ...['logprobs', 'top_logprobs'],
    ...['service_tier', 'prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention', 'verbosity'],
  ],
  'openai-responses': [
    ...['metadata', 'service_tier', 'prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention', 'verbosity'],
    ...['logprobs', 'top_logprobs'],
  ],
  gemini: ['seed', 'presence_penalty', 'frequency_penalty'],
}

/** Servers that are only compatible may refuse what is OpenAI's own. */
const ownOfOpenAi: ReadonlySet<string> = new Set([
  ...['prediction', 'metadata', 'service_tier', 'verbosity'],
  ...['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'],
])
const takesOwn: ReadonlySet<string> = new Set(['openai', 'azure', 'openrouter'])

interface Upstream {
  readonly protocol: Protocol
  readonly deployment: { readonly provider: string }
}

/** The settings among `given`, by OpenAI's names, that the upstream's format has. */
export function extrasFor({ protocol, deployment }: Upstream, given: Json): Json {
  const names = carriedBy[protocol] ?? []
  const taken = names.filter(
    name => !isAbsent(given[name]) && (!ownOfOpenAi.has(name) || takesOwn.has(deployment.provider)),
  )
  return Object.fromEntries(taken.map(name => [name, given[name]]))
}

/** No client can name it, and nothing writes it into a body by accident. */
const member = Symbol('extras')

/** The extras of a canonical request; empty for most. */
export const extrasOf = (request: Json): Json => recordOf((request as { readonly [member]?: unknown })[member])

/** As the member of a canonical request; nothing without any. */
export const withExtras = (extras: Json): object => (Object.keys(extras).length > 0 ? { [member]: extras } : {})

const detail = Symbol('detail')

/** An image block that OpenAI's models look at as closely as `given` says: `low`, `high` or `original`. */
export const withDetail = <T extends Json>(block: T, given: unknown): T =>
  typeof given === 'string' && given !== 'auto' ? { ...block, [detail]: given } : block

/** How closely an image block is to be looked at; undefined where its client left that to the model. */
export const detailOf = (block: Json): string | undefined => textIn((block as { readonly [detail]?: unknown })[detail])

const breakpoint = Symbol('breakpoint')

/** A block that ends a prefix which OpenAI's newer models cache. */
export const withBreakpoint = (block: Json): Json => ({ ...block, [breakpoint]: true })

/** True for a block at whose end the prompt's cache breaks. */
export const hasBreakpoint = (block: Json): boolean =>
  (block as { readonly [breakpoint]?: boolean })[breakpoint] === true

/** The parts that a block was made into, of which the last ends the prefix where the block does. */
export function withBreakpointOf<T extends object>(block: Json, parts: readonly T[]): readonly T[] {
  const last = hasBreakpoint(block) ? parts.at(-1) : undefined
  return last ? [...parts.slice(0, -1), { ...last, prompt_cache_breakpoint: { mode: 'explicit' } }] : parts
}

/** True for a part at whose end the prompt's cache breaks: it cannot be joined with what follows. */
export const endsPrefix = (part: object): boolean => 'prompt_cache_breakpoint' in part
