import { setTimeout as sleep } from 'node:timers/promises'
import { startCpuClock } from '../cpu-clock.ts'
import { succeeded } from '../demo-session.ts'
import { startServer } from '../server.ts'
import { median } from '../statistics.ts'
import { type Calls, checkAnswer, sendCalls } from '../wrk/wrk.ts'

/** Records of calls are written at most this much after the answer. */
const settleMs = 1_200
const connections = { busy: 32, alone: 1 } as const
const seconds = 3

/** How often each contender is measured. */
export const rounds = 5
export const modernVersion = '2026-07-28'
export const legacyVersion = '2025-11-25'
/** The text of each result. */
export const resultText = 'All is well. '.repeat(80)
const params = { name: 'search', arguments: { query: 'all is well' } }
const meta = {
  'io.modelcontextprotocol/protocolVersion': modernVersion,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const accept = 'application/json, text/event-stream'

/** A call of a tool in the modern era. */
export const modernCall = {
  request: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params, _meta: meta } },
  headers: {
    accept,
    'mcp-protocol-version': modernVersion,
    'mcp-method': 'tools/call',
    'mcp-name': params.name,
  },
} as const

/** A call of a tool in the legacy era; its headers lack the session. */
export const legacyCall = {
  request: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
  headers: { accept, 'mcp-protocol-version': legacyVersion },
} as const

/** What is measured. */
export interface Contender {
  readonly name: string
  readonly pid: number
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  stop(): Promise<void>
}

export interface Sample {
  readonly name: string
  /** CPU time of a call under load, of all processes of the contender. */
  readonly cpuUs: number
  /** Median time of a call that is alone. */
  readonly p50Ms: number
}

/** Starts the service with this MCP server, which it serves as `bench`. */
export async function startMcpService(upstream: string, dataDir: string): Promise<Contender> {
  const config = JSON.stringify({
    outbound: { allow: [new URL(upstream).host] },
    limits: { max_loop_delay_ms: 60_000 },
  })
  const server = await startServer({ dataDir, config })
  const registered = { server_name: 'bench', url: upstream, transport: 'http', auth_type: 'none' }
  await succeeded(server, 'POST /v1/mcp/server', registered)
  const { pid, url, key, stop } = server
  return { name: 'service', pid, url: `${url}/mcp/bench`, headers: { 'x-api-key': key }, stop }
}

interface Load {
  /** A file with the body of the calls. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly log: (line: string) => void
}

/** Checks an answer of each, since the load does not, warms them up, and measures them in interleaved rounds. */
export async function compared(contenders: readonly Contender[], { body, headers, log }: Load): Promise<Sample[]> {
  const callsOf = ({ url, headers: own }: Contender): Calls => ({
    url,
    headers: { ...headers, ...own },
    body,
    connections: connections.busy,
    seconds,
  })
  for (const each of contenders) {
    await checkAnswer(callsOf(each), resultText)
    await sendCalls({ ...callsOf(each), seconds: seconds * 3 })
  }
  const samples: Sample[] = []
  for (let round = 0; round < rounds; round++) {
    for (const each of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const sample = await measured(each, callsOf(each))
      log(`${sample.name}: ${Math.round(sample.cpuUs)} us a call, ${sample.p50Ms.toFixed(2)} ms alone`)
      samples.push(sample)
    }
  }
  return samples
}

async function measured({ name, pid }: Contender, calls: Calls): Promise<Sample> {
  const clock = startCpuClock(pid)
  // Calls in flight at the end do not count, which is one of each connection.
  const { calls: answered } = await sendCalls(calls)
  await sleep(settleMs)
  const { wholeUs } = clock()
  const { p50Ms } = await sendCalls({ ...calls, connections: connections.alone })
  return { name, cpuUs: wholeUs / (answered + calls.connections), p50Ms }
}

/** Returns the medians of a contender. */
export function middleOf(samples: readonly Sample[], name: string): Omit<Sample, 'name'> {
  const own = samples.filter(sample => sample.name === name)
  return { cpuUs: median(own.map(({ cpuUs }) => cpuUs)), p50Ms: median(own.map(({ p50Ms }) => p50Ms)) }
}

/** Length of the run, for a title. */
export const roundsText = `${rounds} rounds of ${seconds} s, interleaved; CPU of all processes`
