// Sends model calls in any dialect and looks at every answer: `SenderOptions`; prints a `LoadResult` and ends.
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type Dispatcher } from 'undici'
import { percentile } from '../statistics.ts'
import { createReceipt, type Receipt, type Tally } from './answer-receipt.ts'
import { type LoadResult, requestFor, type SenderOptions, type Spread } from './gateway-load.ts'

const { endpoint, load } = JSON.parse(process.argv[2] ?? '{}') as SenderOptions
const { origin, path } = endpoint
const { kind, connections, rampMs = 0, thinkMs = 0 } = load
const deadlineMs = 120_000 + ('durationMs' in load ? load.durationMs : 0)

const { body, headers } = requestFor(endpoint, load)
// The time-outs are those of the load: a peer may be slow.
const patience = { headersTimeout: deadlineMs, bodyTimeout: deadlineMs, connectTimeout: deadlineMs }
const clients = Array.from({ length: connections }, () => new Client(origin, { ...patience, keepAliveTimeout: 60_000 }))

const tally: Tally = { relayMs: [], firstByteMs: [], firstContentMs: [], wholeMs: [], lostEvents: 0, stalls: 0 }
let begun = 0
let open = 0
let mostOpen = 0
let broken = 0
let fault: string | undefined

setTimeout(() => {
  finish({ failed: `the calls did not end within ${deadlineMs / 1_000} s` })
}, deadlineMs).unref()
// Connections that are opened while streams already run wait long or break: that would be measured in place of the streams.
if (rampMs > 0) await Promise.all(clients.map((client, at) => openOne(client, delayOf(at))))
const startedAt = performance.now()
await Promise.all(clients.map((client, at) => sendOneByOne(client, delayOf(at))))
finish(result())

function result(): LoadResult {
  return {
    elapsedMs: performance.now() - startedAt,
    calls: begun,
    broken,
    ...(fault !== undefined && { fault }),
    lostEvents: tally.lostEvents,
    stalls: tally.stalls,
    mostOpen,
    relay: spreadOf(tally.relayMs),
    firstByte: spreadOf(tally.firstByteMs),
    firstContent: spreadOf(tally.firstContentMs),
    whole: spreadOf(tally.wholeMs),
  }
}

function finish(answer: LoadResult | { readonly failed: string }): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit())
}

function spreadOf(valuesMs: readonly number[]): Spread {
  return { p50: percentile(valuesMs, 0.5), p99: percentile(valuesMs, 0.99) }
}

function isOver(): boolean {
  return 'calls' in load ? begun >= load.calls : performance.now() - startedAt >= load.durationMs
}

function delayOf(at: number): number {
  return (at / connections) * rampMs
}

/** Any answer will do. */
async function openOne(client: Client, delayMs: number): Promise<void> {
  await sleep(delayMs)
  const { body: answer } = await client.request({ method: 'GET', path: '/health' })
  await answer.dump()
}

async function sendOneByOne(client: Client, delayMs: number): Promise<void> {
  if (delayMs > 0) await sleep(delayMs)
  while (!isOver()) {
    begun++
    const problem = await sendOne(client)
    if (problem !== undefined) {
      broken++
      fault ??= problem
    }
    if (thinkMs > 0) await sleep(thinkMs)
  }
}

/** Undefined, or what was wrong with the answer. */
function sendOne(client: Client): Promise<string | undefined> {
  const receipt = createReceipt(kind, tally)
  return new Promise(resolve => client.dispatch({ method: 'POST', path, headers, body }, handlerOf(receipt, resolve)))
}

function handlerOf(receipt: Receipt, resolve: (problem?: string) => void): Dispatcher.DispatchHandler {
  let status = 0
  const leave = (problem: string | undefined) => {
    if (status !== 0) open--
    const missing = receipt.close()
    resolve(problem ?? missing)
  }
  return {
    onRequestStart: () => undefined,
    onResponseStart(_controller, code) {
      if (code < 200) return
      status = code
      mostOpen = Math.max(mostOpen, ++open)
    },
    onResponseData: (_controller, chunk) => receipt.take(chunk),
    onResponseEnd: () => leave(status === 200 ? undefined : `status ${status}: ${receipt.excerpt()}`),
    onResponseError: (_controller, error) => leave(`the call broke: ${error.message}`),
  }
}
