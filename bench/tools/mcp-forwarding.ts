import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BenchCase, Figure } from '../bench-case.ts'
import { startBareProxy } from '../start-bare-proxy.ts'
import { rounded } from '../statistics.ts'
import { startUpstream, type Upstream } from '../upstream/upstream.ts'
import {
  type Contender,
  compared,
  middleOf,
  modernCall,
  resultText,
  roundsText,
  type Sample,
  startMcpService,
} from './mcp-load.ts'

const path = '/mcp'
const response = {
  jsonrpc: '2.0',
  id: 1,
  result: { resultType: 'complete', content: [{ type: 'text', text: resultText }] },
}

/** A call of a tool through the proxy, both sides of the revision 2026-07-28. */
export const mcpForwarding: BenchCase = {
  name: 'mcp-forwarding',
  title: `tools/call of 2026-07-28 through /mcp/{server}; wrk and a server in C; ${roundsText}`,
  async run({ folder, log }) {
    const body = join(folder, 'call.json')
    await writeFile(body, JSON.stringify(modernCall.request))
    const upstream = await startUpstream(join(folder, 'upstream'), [{ path, body: JSON.stringify(response) }])
    const contenders: Contender[] = []
    try {
      contenders.push(await bareProxy(upstream))
      contenders.push(await startMcpService(upstream.origin + path, join(folder, 'data')))
      return figuresOf(await compared(contenders, { body, headers: modernCall.headers, log }))
    } finally {
      for (const { stop } of contenders) await stop()
      await upstream.stop()
    }
  },
}

async function bareProxy(upstream: Upstream): Promise<Contender> {
  const { answer, pid, stop } = await startBareProxy(upstream.origin)
  return { name: 'bare proxy', pid, url: answer.origin + path, headers: {}, stop }
}

function figuresOf(samples: readonly Sample[]): Figure[] {
  const [own, bare] = [middleOf(samples, 'service'), middleOf(samples, 'bare proxy')]
  return [
    {
      name: 'CPU of a call, service / bare proxy',
      value: own.cpuUs / bare.cpuUs,
      unit: '',
      target: 3,
      detail: `aim 2; ${rounded(own.cpuUs)} / ${rounded(bare.cpuUs)} us, database included`,
    },
    {
      name: 'time that the service adds to a call, p50',
      value: own.p50Ms - bare.p50Ms,
      unit: 'ms',
      target: 2,
      detail: `${rounded(own.p50Ms)} - ${rounded(bare.p50Ms)} ms, one call at a time`,
    },
  ]
}
