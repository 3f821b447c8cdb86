import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchCase, Figure } from '../bench-case.ts'
import { startCpuClock } from '../cpu-clock.ts'
import { succeeded } from '../demo-session.ts'
import { startServer } from '../server.ts'
import { startBareProxy } from '../start-bare-proxy.ts'
import { median, rounded } from '../statistics.ts'
import { startUpstream, type Upstream } from '../upstream/upstream.ts'
import { type Calls, checkAnswer, sendCalls } from '../wrk/wrk.ts'

const rounds = 5
const seconds = 3
/** Records of calls are written at most this much after the answer. */
const settleMs = 1_200
const connections = { busy: 32, alone: 1 } as const
const path = '/mcp'

const version = '2026-07-28'
const meta = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const request = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'search', arguments: { query: 'all is well' }, _meta: meta },
}
const modernHeaders = {
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': version,
  'mcp-method': 'tools/call',
  'mcp-name': 'search',
}
const resultText = 'All is well. '.repeat(80)
const response = {
  jsonrpc: '2.0',
  id: 1,
  result: { resultType: 'complete', content: [{ type: 'text', text: resultText }] },
}

interface Contender {
  readonly name: string
  readonly pid: number
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  stop(): Promise<void>
}

interface Sample {
  readonly name: string
  /** CPU time of a call under load. */
  readonly cpuUs: number
  /** Median time of a call that is alone. */
  readonly p50Ms: number
}

/** A call of a tool through the proxy, both sides of the revision 2026-07-28. */
export const mcpForwarding: BenchCase = {
  name: 'mcp-forwarding',
  title: `tools/call of 2026-07-28 through /mcp/{server}; wrk and a server in C; ${rounds} rounds of ${seconds} s, interleaved; CPU of all processes`,
  async run({ folder, log }) {
    const body = join(folder, 'call.json')
    await writeFile(body, JSON.stringify(request))
    const upstream = await startUpstream(join(folder, 'upstream'), [{ path, body: JSON.stringify(response) }])
    const contenders: Contender[] = []
    try {
      contenders.push(await bareProxy(upstream), await service(upstream, join(folder, 'data')))
      const samples: Sample[] = []
      for (const each of contenders) await prove(callsOf(each, body))
      for (let round = 0; round < rounds; round++) {
        for (const each of round % 2 === 0 ? contenders : contenders.toReversed()) {
          const sample = await measured(each, body, upstream)
          log(`${sample.name}: ${rounded(sample.cpuUs)} us a call, ${rounded(sample.p50Ms)} ms alone`)
          samples.push(sample)
        }
      }
      return figuresOf(samples)
    } finally {
      for (const { stop } of contenders) await stop()
      await upstream.stop()
    }
  },
}

const callsOf = ({ url, headers }: Contender, body: string): Calls => ({
  url,
  headers: { ...modernHeaders, ...headers },
  body,
  connections: connections.busy,
  seconds,
})

/** Checks an answer, since the load does not, and warms up. */
async function prove(calls: Calls): Promise<void> {
  await checkAnswer(calls, resultText)
  await sendCalls({ ...calls, seconds: seconds * 3 })
}

async function bareProxy(upstream: Upstream): Promise<Contender> {
  const { answer, pid, stop } = await startBareProxy(upstream.origin)
  return { name: 'bare proxy', pid, url: answer.origin + path, headers: {}, stop }
}

async function service(upstream: Upstream, dataDir: string): Promise<Contender> {
  const config = JSON.stringify({
    outbound: { allow: [new URL(upstream.origin).host] },
    limits: { max_loop_delay_ms: 60_000 },
  })
  const server = await startServer({ dataDir, config })
  const registered = { server_name: 'bench', url: upstream.origin + path, transport: 'http', auth_type: 'none' }
  await succeeded(server, 'POST /v1/mcp/server', registered)
  const { pid, url, key, stop } = server
  return { name: 'service', pid, url: `${url}/mcp/bench`, headers: { 'x-api-key': key }, stop }
}

async function measured(contender: Contender, body: string, upstream: Upstream): Promise<Sample> {
  const calls = callsOf(contender, body)
  const before = await upstream.counts()
  const clock = startCpuClock(contender.pid)
  await sendCalls(calls)
  await sleep(settleMs)
  const { wholeUs } = clock()
  const answers = (await upstream.counts()).answers - before.answers
  const { p50Ms } = await sendCalls({ ...calls, connections: connections.alone })
  return { name: contender.name, cpuUs: wholeUs / answers, p50Ms }
}

function figuresOf(samples: readonly Sample[]): Figure[] {
  const middle = (name: string, field: 'cpuUs' | 'p50Ms') =>
    median(samples.filter(sample => sample.name === name).map(sample => sample[field]))
  const pair = (field: 'cpuUs' | 'p50Ms') => [middle('service', field), middle('bare proxy', field)] as const
  const [cpu, bareCpu] = pair('cpuUs')
  const [time, bareTime] = pair('p50Ms')
  return [
    {
      name: 'CPU of a call, service / bare proxy',
      value: cpu / bareCpu,
      unit: '',
      target: 3,
      detail: `aim 2; ${rounded(cpu)} / ${rounded(bareCpu)} us, database included`,
    },
    {
      name: 'time that the service adds to a call, p50',
      value: time - bareTime,
      unit: 'ms',
      target: 2,
      detail: `${rounded(time)} - ${rounded(bareTime)} ms, one call at a time`,
    },
  ]
}
