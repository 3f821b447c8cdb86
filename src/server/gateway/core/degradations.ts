import type { Json } from '../../platform/json.ts'

/** A change to a request or an answer that the upstream's protocol could not represent. */
export interface Degradation {
  /** Path of the field, such as `top_k` or `messages.3.content.1`. */
  readonly path: string
  /** What was done, in the past tense, such as `dropped` or `image_moved`. */
  readonly action: string
}

/**
 * The client's names of fields in a canonical request: of settings, such as `generationConfig.topP` for `top_p`, and
 * after a `*`, of fields of blocks and tools, such as `.parameters` for `*.input_schema`.
 */
export type OwnNames = Readonly<Record<string, string>>

const origin = Symbol('origin')

/** Records the client's path of a new part of a canonical request, such as `input.3`. Keeps a path recorded before. */
export function placed<T extends object>(part: T, path: string): T {
  const noted = part as { [origin]?: string }
  noted[origin] ??= path
  return part
}

/** As `placed`, for several new parts. */
export function allPlaced<T extends object>(parts: readonly T[], path: string): readonly T[] {
  for (const part of parts) placed(part, path)
  return parts
}

const originOf = (part: unknown): string | undefined =>
  typeof part === 'object' && part !== null ? (part as { readonly [origin]?: string })[origin] : undefined

/** Returns the path of the client's message or item that contains a block. */
export const placeOfMessage = (block: object | undefined): string => originOf(block)?.match(/^\w+\.\d+/)?.[0] ?? ''

/** Returns degradations of a canonical request with the client's names of fields. */
export const inOwnNames = (
  degradations: readonly Degradation[],
  names: OwnNames,
  request: Json,
): readonly Degradation[] => degradations.map(({ path, action }) => ({ path: ownPath(path, names, request), action }))

function ownPath(path: string, names: OwnNames, request: Json): string {
  const named = names[path]
  if (named !== undefined) return named
  const steps = path.split('.')
  let part: unknown = request
  let found: { readonly own: string; readonly depth: number } | undefined
  for (const [at, step] of steps.entries()) {
    part = (part as Json | undefined | null)?.[step]
    const own = originOf(part)
    if (own) found = { own, depth: at + 1 }
  }
  if (!found) return path
  const rest = steps
    .slice(found.depth)
    .map(step => `.${step}`)
    .join('')
  return `${found.own}${names[`*${rest}`] ?? rest}`
}

const maxPairs = 20
const maxBytes = 1024

/** Returns the value of `x-switchyard-degraded`: `top_k=dropped, stop_sequences=cut, +3`; undefined if empty. */
export function degradedHeader(degradations: readonly Degradation[]): string | undefined {
  if (degradations.length === 0) return undefined
  const shown: string[] = []
  let bytes = 0
  for (const { path, action } of degradations.slice(0, maxPairs)) {
    const pair = `${path}=${action}`.replaceAll(/[^\x21-\x7e]/g, '_')
    // 16 bytes are reserved for the number of omitted pairs.
    if (bytes + pair.length + 2 > maxBytes - 16) break
    shown.push(pair)
    bytes += pair.length + 2
  }
  const more = degradations.length - shown.length
  return [...shown, ...(more > 0 ? [`+${more}`] : [])].join(', ')
}

/** Returns the attempt with `x-switchyard-degraded` added to its headers. */
export function withDegradedHeader<T extends { readonly ownHeaders: Readonly<Record<string, string>> }>(
  attempt: T,
  degraded: readonly Degradation[],
): T {
  const header = degradedHeader(degraded)
  if (header === undefined) return attempt
  return { ...attempt, ownHeaders: { ...attempt.ownHeaders, 'x-switchyard-degraded': header } }
}
