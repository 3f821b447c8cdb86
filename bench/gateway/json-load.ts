import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { answerText } from '../exchange.ts'
import { checkAnswer, sendCalls } from '../wrk/wrk.ts'
import { type Endpoint, type GatewayLoad, type LoadResult, requestFor } from './gateway-load.ts'

const none = { p50: Number.NaN, p99: Number.NaN }

/** Sends JSON calls with wrk for the time of the load. Rejects when an answer was not that of the upstream, or not 2xx. */
export async function sendJsonLoad(endpoint: Endpoint, load: GatewayLoad, folder: string): Promise<LoadResult> {
  if (!('durationMs' in load)) throw new Error('JSON calls are sent for a time')
  const body = join(folder, 'body.json')
  const request = requestFor(endpoint, load)
  await writeFile(body, request.body)
  const { connections, durationMs } = load
  const url = endpoint.origin + endpoint.path
  const calls = { url, body, headers: request.headers, connections, seconds: durationMs / 1_000 }
  await checkAnswer(calls, answerText)
  const answered = await sendCalls(calls)
  return {
    elapsedMs: answered.elapsedMs,
    calls: answered.calls,
    broken: 0,
    lostEvents: 0,
    stalls: 0,
    maxOpen: connections,
    relay: none,
    firstByte: none,
    firstContent: none,
    whole: { p50: answered.p50Ms, p99: answered.p99Ms },
  }
}
