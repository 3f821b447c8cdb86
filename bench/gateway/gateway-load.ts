import { type Kind, requestBody } from '../exchange.ts'
import { runProgram } from '../program.ts'

/** Where calls of a kind go, and how they are put there. */
export interface Endpoint {
  readonly origin: string
  readonly path: string
  /** The name by which the program knows the model. */
  readonly model: string
  readonly headers: Readonly<Record<string, string>>
}

/** How much is sent: a number of calls, or calls for a time. */
export type Amount = { readonly calls: number } | { readonly durationMs: number }

/** Calls to send, `connections` of them at any time. JSON without pauses is sent by wrk, everything else from Node. */
export type GatewayLoad = Amount & {
  readonly kind: Kind
  readonly bodyBytes: number
  readonly connections: number
  /** The time over which the connections are opened, and then again begin their calls; all at once by default. */
  readonly rampMs?: number
  /** What a connection waits between two calls; nothing by default. */
  readonly thinkMs?: number
}

/** The middle and the tail of a time in milliseconds; NaN when there was none. */
export interface Spread {
  readonly p50: number
  readonly p99: number
}

/** What came of a load. */
export interface LoadResult {
  readonly elapsedMs: number
  readonly calls: number
  /** Calls whose answer was not whole. */
  readonly broken: number
  /** What was wrong with the first of them. */
  readonly fault?: string
  /** Text events that never came. */
  readonly lostEvents: number
  /** Text events that came later than the one before them by more than ten times the pace, as the upstream sent both. */
  readonly stalls: number
  /** The most calls that had an open answer at one time. */
  readonly mostOpen: number
  /** From the upstream's write of a text event to its arrival. */
  readonly relay: Spread
  readonly firstByte: Spread
  readonly firstContent: Spread
  readonly whole: Spread
}

/** The body and the headers of every call of a load. */
export function requestFor({ model, headers }: Endpoint, { kind, bodyBytes }: Pick<GatewayLoad, 'kind' | 'bodyBytes'>) {
  const body = requestBody(kind, bodyBytes).toString().replace(`"bench/${kind}"`, JSON.stringify(model))
  const common = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }
  return { body: Buffer.from(body), headers: { ...common, ...headers } }
}

/** What the program that sends is given. */
export interface SenderOptions {
  readonly endpoint: Endpoint
  readonly load: GatewayLoad
}

/** Sends the calls from a process of their own. Rejects when no call at all was answered, or they did not end in time. */
export async function sendGatewayLoad(endpoint: Endpoint, load: GatewayLoad): Promise<LoadResult> {
  const options: SenderOptions = { endpoint, load }
  const result = await runProgram<LoadResult | { readonly failed: string }>(
    import.meta.resolve('./load-generator.ts'),
    options,
  )
  if ('failed' in result) throw new Error(result.failed)
  const { broken, calls, fault = 'no call was answered' } = result
  if (calls === 0 || broken === calls || (load.kind === 'json' && broken > 0)) {
    throw new Error(`${broken} of ${calls} calls failed: ${fault}`)
  }
  return result
}
