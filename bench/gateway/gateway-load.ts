import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compiled } from '../compiled.ts'
import { answerText, deltasPerStream, type Kind, paceMs, requestBody } from '../exchange.ts'
import { startCommand } from '../program.ts'

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

/** Calls to send, `connections` of them at any time. JSON without pauses is sent by wrk, everything else by a program in C. */
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
  readonly maxOpen: number
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

const source = join(import.meta.dirname, 'sender.c')
/** How long the calls may take besides their time. */
const patienceMs = 120_000
/** A text event is stalled when it comes later than the one before it by this, as the upstream sent both. */
const stallUs = 10 * paceMs * 1_000

type Printed = {
  readonly [Name in keyof LoadResult]: LoadResult[Name] extends Spread ? Spread | null : LoadResult[Name]
}

/** Sends the calls from a program in C, whose process id `onStart` gets. Rejects when no call at all was answered. */
export async function sendGatewayLoad(
  endpoint: Endpoint,
  load: GatewayLoad,
  folder: string,
  onStart?: (pid: number) => void,
): Promise<LoadResult> {
  const { kind, connections, rampMs = 0, thinkMs = 0 } = load
  const file = join(folder, `request-${++files}`)
  await writeFile(file, rawRequest(endpoint, load))
  const [calls, durationMs] = 'calls' in load ? [load.calls, 0] : [0, load.durationMs]
  const [expected, deltas] = kind === 'json' ? [answerText, 0] : ['message_stop', deltasPerStream]
  const { port } = new URL(endpoint.origin)
  const amounts = [deltas, connections, calls, durationMs, rampMs, thinkMs, stallUs, durationMs + patienceMs]
  const args = [port, file, expected, ...amounts.map(String)]
  const { answer, stop } = await startCommand<Printed>(programIn(folder), args, onStart)
  await stop()
  const result = { ...answer, ...spreadsOf(answer) }
  const { broken, calls: sent, fault = 'no call was answered' } = result
  if (sent === 0 || broken === sent) throw new Error(`${broken} of ${sent} calls failed: ${fault}`)
  return result
}

let files = 0
const programs = new Map<string, string>()

/** Compiled once for each folder. */
function programIn(folder: string): string {
  const program = programs.get(folder) ?? compiled(source, folder)
  programs.set(folder, program)
  return program
}

function rawRequest(endpoint: Endpoint, load: GatewayLoad): Buffer {
  const { body, headers } = requestFor(endpoint, load)
  const all = { host: new URL(endpoint.origin).host, ...headers, 'content-length': String(body.length) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`POST ${endpoint.path} HTTP/1.1\r\n${lines.join('')}\r\n`), body])
}

const noTimes: Spread = { p50: Number.NaN, p99: Number.NaN }

const spreadsOf = ({ relay, firstByte, firstContent, whole }: Printed) => ({
  relay: relay ?? noTimes,
  firstByte: firstByte ?? noTimes,
  firstContent: firstContent ?? noTimes,
  whole: whole ?? noTimes,
})
