import type { Protocol } from '../../../config/protocols.ts'
import { isAbsent, type Json, recordOf, textIn } from '../../../platform/json.ts'

/**
 * Extras: settings with OpenAI's names that several formats share and that the canonical request does not have. A
 * request carries them under a symbol, and only those that its upstream's format supports.
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

/** Settings specific to OpenAI. Compatible servers may reject them. */
const openAiSettings: ReadonlySet<string> = new Set([
  ...['prediction', 'metadata', 'service_tier', 'verbosity'],
  ...['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'],
])
const openAiProviders: ReadonlySet<string> = new Set(['openai', 'azure', 'openrouter'])

interface Upstream {
  readonly protocol: Protocol
  readonly deployment: { readonly provider: string }
}

/** Returns the settings in `given` that the upstream supports. */
export function extrasFor({ protocol, deployment }: Upstream, given: Json): Json {
  const names = carriedBy[protocol] ?? []
  const taken = names.filter(
    name => !isAbsent(given[name]) && (!openAiSettings.has(name) || openAiProviders.has(deployment.provider)),
  )
  return Object.fromEntries(taken.map(name => [name, given[name]]))
}

/** A symbol, because clients cannot send it and JSON.stringify does not write it. */
const member = Symbol('extras')

/** Returns the extras of a canonical request; an empty object without extras. */
export const extrasOf = (request: Json): Json => recordOf((request as { readonly [member]?: unknown })[member])

/** Returns the member to spread into a canonical request; an empty object without extras. */
export const withExtras = (extras: Json): object => (Object.keys(extras).length > 0 ? { [member]: extras } : {})

const detail = Symbol('detail')

/** Returns an image block with OpenAI's `detail`: `low`, `high` or `original`. */
export const withDetail = <T extends Json>(block: T, given: unknown): T =>
  typeof given === 'string' && given !== 'auto' ? { ...block, [detail]: given } : block

/** Returns the `detail` of an image block; undefined if the client did not set it. */
export const detailOf = (block: Json): string | undefined => textIn((block as { readonly [detail]?: unknown })[detail])

const breakpoint = Symbol('breakpoint')

/** Returns a block that ends a cached prefix (a cache breakpoint of OpenAI's newer models). */
export const withBreakpoint = (block: Json): Json => ({ ...block, [breakpoint]: true })

/** Returns true for a block with a cache breakpoint at its end. */
export const hasBreakpoint = (block: Json): boolean =>
  (block as { readonly [breakpoint]?: boolean })[breakpoint] === true

/** Returns the parts of a block, with the block's cache breakpoint on the last part. */
export function withBreakpointOf<T extends object>(block: Json, parts: readonly T[]): readonly T[] {
  const last = hasBreakpoint(block) ? parts.at(-1) : undefined
  return last ? [...parts.slice(0, -1), { ...last, prompt_cache_breakpoint: { mode: 'explicit' } }] : parts
}

/** Returns true for a part with a cache breakpoint. It cannot be joined with the next part. */
export const endsPrefix = (part: object): boolean => 'prompt_cache_breakpoint' in part
