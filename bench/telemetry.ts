import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { BenchCase, Figure } from './bench-case.ts'
import { messagesBaseOf } from './exchange.ts'
import { type Endpoint, sendGatewayLoad } from './gateway/gateway-load.ts'
import { upstreamAnswers } from './gateway/upstream-answers.ts'
import { cpuTimeUs } from './process-figures.ts'
import { type Server, startServer } from './server.ts'
import { median, rounded } from './statistics.ts'
import { startUpstream } from './upstream/upstream.ts'

const rounds = 10
/** Until the code is compiled; before, the first variants pay for it. */
const warmUpCalls = 15_000
const callsPerRound = 5_000
const bodyBytes = 2_500
const connections = 64

const variants = ['off', 'metrics', 'metrics and traces'] as const
type Variant = (typeof variants)[number]

interface Contender {
  readonly variant: Variant
  readonly server: Server
  readonly cpuUs: number[]
}

/** CPU time of a model call with metrics and traces on and off, in interleaved rounds. The collector is a local process. */
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
        // Each is first as often as last.
        for (const contender of round % 2 === 0 ? contenders : contenders.toReversed())
          contender.cpuUs.push(await cpuOfCall(contender, folder))
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

async function cpuOfCall({ server }: Contender, folder: string): Promise<number> {
  // A process that has rested costs more at first.
  await sendGatewayLoad(endpointOf(server), { ...load, calls: callsPerRound }, folder)
  const before = cpuTimeUs(server.pid)
  const { calls, broken } = await sendGatewayLoad(endpointOf(server), { ...load, calls: callsPerRound }, folder)
  if (broken > 0) throw new Error(`${broken} calls failed`)
  return (cpuTimeUs(server.pid) - before) / calls
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

/** The ratio is the median of those of the rounds, in which both ran shortly after each other. */
function figuresOf(contenders: readonly Contender[]): Figure[] {
  const [off, ...others] = contenders
  if (!off) throw new Error('nothing was measured')
  return others.map(({ variant, cpuUs }) => {
    const ratios = cpuUs.map((cost, round) => cost / (off.cpuUs[round] ?? Number.NaN))
    const detail = `${rounded(median(cpuUs))} / ${rounded(median(off.cpuUs))} us; ratios ${ratios.map(rounded).join(', ')}`
    return { name: `CPU of a call, ${variant} / off`, value: median(ratios), unit: '', target: 1.05, detail }
  })
}
