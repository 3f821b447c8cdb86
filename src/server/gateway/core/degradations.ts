import type { Json } from '../../platform/json.ts'

/** Something of a request or an answer that an upstream's protocol could not carry as it was. */
export interface Degradation {
  /** Where it stood, such as `top_k` or `messages.3.content.1`. */
  readonly path: string
  /** What became of it, in the past tense, such as `dropped` or `image_moved`. */
  readonly action: string
}

/**
 * What a client calls settings of a canonical request, such as `generationConfig.topP` for `top_p`, and after a `*` fields of
 * its blocks and tools, such as `.parameters` for `*.input_schema`.
 */
export type OwnNames = Readonly<Record<string, string>>

const origin = Symbol('origin')

/** Notes in a new part of a canonical request where its client has it, such as `input.3`; what was noted before stays. */
export function placed<T extends object>(part: T, path: string): T {
  const noted = part as { [origin]?: string }
  noted[origin] ??= path
  return part
}

/** The same for each of some parts, which must be new ones as well. */
export function allPlaced<T extends object>(parts: readonly T[], path: string): readonly T[] {
  for (const part of parts) placed(part, path)
  return parts
}

const originOf = (part: unknown): string | undefined =>
  typeof part === 'object' && part !== null ? (part as { readonly [origin]?: string })[origin] : undefined

/** What a block came from as a whole: the message or item of the client's that holds it. */
export const placeOfMessage = (block: object | undefined): string => originOf(block)?.match(/^\w+\.\d+/)?.[0] ?? ''

/** Degradations of a canonical request in the words of the client that sent it. */
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

/** The value of `x-switchyard-degraded`: `top_k=dropped, stop_sequences=cut, +3`; undefined without any. */
export function degradedHeader(degradations: readonly Degradation[]): string | undefined {
  if (degradations.length === 0) return undefined
  const shown: string[] = []
  let bytes = 0
  for (const { path, action } of degradations.slice(0, maxPairs)) {
    const pair = `${path}=${action}`.replaceAll(/[^\x21-\x7e]/g, '_')
    // Room is kept for the number of those that are left out.
    if (bytes + pair.length + 2 > maxBytes - 16) break
    shown.push(pair)
    bytes += pair.length + 2
  }
  const more = degradations.length - shown.length
  return [...shown, ...(more > 0 ? [`+${more}`] : [])].join(', ')
}

/** What goes out with an answer, the list of what its request lost among it. */
export function withDegradedHeader<T extends { readonly ownHeaders: Readonly<Record<string, string>> }>(
  attempt: T,
  degraded: readonly Degradation[],
): T {
  const header = degradedHeader(degraded)
  if (header === undefined) return attempt
  return { ...attempt, ownHeaders: { ...attempt.ownHeaders, 'x-switchyard-degraded': header } }
}
