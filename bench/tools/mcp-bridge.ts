import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BenchCase, Figure } from '../bench-case.ts'
import { startProgram } from '../program.ts'
import { rounded } from '../statistics.ts'
import {
  type Contender,
  compared,
  legacyCall,
  legacyVersion,
  middleOf,
  modernCall,
  roundsText,
  type Sample,
  startMcpService,
} from './mcp-load.ts'

interface Servers {
  readonly legacy: string
  readonly modern: string
}

/** A pair of eras, named by the client. */
interface Pair {
  readonly client: keyof Servers
  readonly server: keyof Servers
}

const pairs: readonly Pair[] = [
  { client: 'legacy', server: 'modern' },
  { client: 'modern', server: 'legacy' },
]
const bridgeName = 'SDK bridge'

/** A call of a tool whose client and server have different eras. */
export const mcpBridge: BenchCase = {
  name: 'mcp-bridge',
  title: `tools/call between clients of ${legacyVersion} and of 2026-07-28 and servers of the other revision, through /mcp/{server} and through a minimal bridge of the two SDKs; wrk; ${roundsText}`,
  async run({ folder, log }) {
    const servers = await startProgram<Servers>(import.meta.resolve('./lean-mcp-servers.ts'), {})
    try {
      const figures: Figure[] = []
      for (const pair of pairs) {
        log(`${pair.client} client, ${pair.server} server`)
        figures.push(...figuresOf(pair, await samplesOf(pair, servers.answer[pair.server], { folder, log })))
      }
      return figures
    } finally {
      await servers.stop()
    }
  },
}

async function samplesOf(
  { client, server }: Pair,
  upstream: string,
  { folder, log }: { readonly folder: string; readonly log: (line: string) => void },
): Promise<Sample[]> {
  const { request, headers } = client === 'legacy' ? legacyCall : modernCall
  const body = join(folder, `${client}.json`)
  // A session must not have two calls with the same id in flight.
  await writeFile(body, JSON.stringify(request).replace('"id":1', '"id":@n@'))
  const contenders: Contender[] = []
  try {
    const bridge = await startProgram<{ origin: string }>(import.meta.resolve('./sdk-bridge.ts'), {
      [server]: upstream,
    })
    const url = `${bridge.answer.origin}/mcp`
    contenders.push({ name: bridgeName, pid: bridge.pid, url, headers: {}, stop: bridge.stop })
    contenders.push(await startMcpService(upstream, join(folder, `data-${client}`)))
    const ready = client === 'legacy' ? await Promise.all(contenders.map(withSession)) : contenders
    return await compared(ready, { body, headers, log })
  } finally {
    for (const { stop } of contenders) await stop()
  }
}

/** Opens a session of the legacy era. */
async function withSession(contender: Contender): Promise<Contender> {
  const headers = { 'content-type': 'application/json', ...legacyCall.headers, ...contender.headers }
  const post = (message: object, more: Readonly<Record<string, string>> = {}) =>
    fetch(contender.url, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  const params = { protocolVersion: legacyVersion, capabilities: {}, clientInfo: { name: 'bench', version: '1' } }
  const opened = await post({ id: 0, method: 'initialize', params })
  const text = await opened.text()
  const session = opened.headers.get('mcp-session-id')
  if (!opened.ok || session === null) throw new Error(`${contender.name} opened no session: ${opened.status} ${text}`)
  await (await post({ method: 'notifications/initialized' }, { 'mcp-session-id': session })).text()
  return { ...contender, headers: { ...contender.headers, 'mcp-session-id': session } }
}

function figuresOf({ client, server }: Pair, samples: readonly Sample[]): Figure[] {
  const [own, minimal] = [middleOf(samples, 'service'), middleOf(samples, bridgeName)]
  const pair = `${client} client, ${server} server`
  return [
    {
      name: `CPU of a call, service / SDK bridge; ${pair}`,
      value: own.cpuUs / minimal.cpuUs,
      unit: '',
      target: 1.5,
      detail: `${rounded(own.cpuUs)} / ${rounded(minimal.cpuUs)} us, database included`,
    },
    {
      name: `time of a call, p50, service / SDK bridge; ${pair}`,
      value: own.p50Ms / minimal.p50Ms,
      unit: '',
      target: 1.5,
      detail: `${rounded(own.p50Ms)} / ${rounded(minimal.p50Ms)} ms, one call at a time`,
    },
  ]
}
