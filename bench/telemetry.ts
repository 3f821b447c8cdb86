import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { BenchCase, Figure } from './bench-case.ts'
import { messagesBaseOf } from './exchange.ts'
import { type Endpoint, sendGatewayLoad } from './gateway/gateway-load.ts'
import { upstreamAnswers } from './gateway/upstream-answers.ts'
import { cpuTimeUs } from './process-figures.ts'
import { type Server, startServer } from './server.ts'
import { median, rounded } from './statistics.ts'
import { startUpstream } from './upstream/upstream.ts'

const rounds = 16
/** Until the code is compiled; before, the first variants pay for it. */
const warmUpCalls = 15_000
const callsPerRound = 12_000
/** Far shorter than the phases in which a shared machine is slow. */
const turnMs = 100
const bodyBytes = 2_500
const connections = 64

const variants = ['off', 'metrics', 'metrics and traces'] as const
type Variant = (typeof variants)[number]

interface Contender {
  readonly variant: Variant
  readonly server: Server
  readonly cpuUs: number[]
}

/** CPU time of a model call with metrics and traces on and off, in turns of a tenth of a second. The collector is a local process. */
export const telemetry: BenchCase = {
  name: 'telemetry',
  title: `CPU time of a call with metrics and traces on and off; JSON, 2.5 KB in, ${connections} connections; ${rounds} rounds`,
  async run({ folder, log }) {
    const upstream = await startUpstream(join(folder, 'upstream'), upstreamAnswers())
    const collector = await startCollector()
    const contenders: Contender[] = []
    try {
      for (const [index, variant] of variants.entries()) {
        const config = configOf(variant, { upstream: upstream.origin, collector: collector.origin })
        const server = await startServer({ dataDir: join(folder, `data-${index}`), config })
        contenders.push({ variant, server, cpuUs: [] })
        await sendGatewayLoad(endpointOf(server), { ...load, calls: warmUpCalls }, folder)
      }
      for (let round = 1; round <= rounds; round++) {
        await runRound(contenders, folder)
        log(contenders.map(({ variant, cpuUs }) => `${variant} ${rounded(cpuUs.at(-1) ?? 0)} us`).join(', '))
      }
      if (collector.requests() === 0) throw new Error('the collector got no traces')
      return figuresOf(contenders)
    } finally {
      for (const { server } of contenders) await server.stop()
      collector.server.close()
      await upstream.stop()
    }
  },
}

const load = { kind: 'json', bodyBytes, connections } as const

/** Sends the same calls to each, in short turns: all senders but one stand still. */
async function runRound(contenders: readonly Contender[], folder: string): Promise<void> {
  const before = contenders.map(({ server }) => cpuTimeUs(server.pid))
  const senders = new Set<number>()
  const loads = contenders.map(async ({ server }) => {
    let sender = 0
    const { broken } = await sendGatewayLoad(endpointOf(server), { ...load, calls: callsPerRound }, folder, pid => {
      sender = pid
      senders.add(pid)
    }).finally(() => senders.delete(sender))
    if (broken > 0) throw new Error(`${broken} calls failed`)
  })
  const all = Promise.all(loads)
  let hasEnded = false
  void all
    .catch(() => undefined)
    .finally(() => {
      hasEnded = true
    })
  while (!hasEnded) {
    // In changing order, since a turn begins with what the one before has left.
    for (const active of shuffled([...senders])) {
      for (const pid of senders) signal(pid, pid === active ? 'SIGCONT' : 'SIGSTOP')
      await setTimeout(turnMs)
    }
    if (senders.size === 0) await setTimeout(turnMs)
  }
  await all
  for (const [index, { server, cpuUs }] of contenders.entries())
    cpuUs.push((cpuTimeUs(server.pid) - (before[index] ?? 0)) / callsPerRound)
}

const shuffled = <T>(items: readonly T[]): T[] =>
  items
    .map(item => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)

function signal(pid: number, name: 'SIGCONT' | 'SIGSTOP'): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended meanwhile.
  }
}

const endpointOf = ({ url, key }: Server): Endpoint => ({
  origin: url,
  path: '/v1/messages',
  model: 'bench/json',
  headers: { 'x-api-key': key },
})

function configOf(variant: Variant, { upstream, collector }: { upstream: string; collector: string }): string {
  const params = { model: 'anthropic/json', api_base: upstream + messagesBaseOf('json'), api_key: 'sk-upstream-0123' }
  return JSON.stringify({
    model_list: [{ model_name: 'bench/json', params }],
    outbound: { allow: [new URL(upstream).host] },
    limits: { max_streams: 10_000, max_loop_delay_ms: 60_000 },
    metrics: { enabled: variant !== 'off' },
    ...(variant === 'metrics and traces' && { telemetry: { otlp: { endpoint: collector } } }),
  })
}

/** A collector that accepts everything. */
async function startCollector(): Promise<{ server: HttpServer; origin: string; requests: () => number }> {
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    request.resume().on('end', () => response.end('{}'))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { server, origin: `http://127.0.0.1:${port}`, requests: () => requests }
}

/** The ratio is the median of those of the rounds, in which all ran in turns. */
function figuresOf(contenders: readonly Contender[]): Figure[] {
  const [off, ...others] = contenders
  if (!off) throw new Error('nothing was measured')
  return others.map(({ variant, cpuUs }) => {
    const ratios = cpuUs.map((cost, round) => cost / (off.cpuUs[round] ?? Number.NaN))
    const detail = `${rounded(median(cpuUs))} / ${rounded(median(off.cpuUs))} us; ratios ${ratios.map(rounded).join(', ')}`
    return { name: `CPU of a call, ${variant} / off`, value: median(ratios), unit: '', target: 1.05, detail }
  })
}
