import { type Kind, kinds, messagesBaseOf } from '../exchange.ts'
import { chatBaseOf } from '../gateway/chat-exchange.ts'
import { type GatewayLoad, type LoadResult, sendGatewayLoad } from '../gateway/gateway-load.ts'
import type { Server } from '../server.ts'

interface Calls {
  readonly mode: 'passthrough' | 'translation'
  readonly load: Omit<GatewayLoad, 'calls' | 'durationMs'>
}

const loads: readonly Calls[] = [
  { mode: 'passthrough', load: { kind: 'json', bodyBytes: 2_500, connections: 4, thinkMs: 40 } },
  { mode: 'translation', load: { kind: 'json', bodyBytes: 2_500, connections: 4, thinkMs: 40 } },
  { mode: 'passthrough', load: { kind: 'json', bodyBytes: 305_000, connections: 1, thinkMs: 200 } },
  { mode: 'passthrough', load: { kind: 'paced', bodyBytes: 2_500, connections: 40 } },
  { mode: 'translation', load: { kind: 'paced', bodyBytes: 2_500, connections: 40 } },
  { mode: 'passthrough', load: { kind: 'burst', bodyBytes: 2_500, connections: 1, thinkMs: 200 } },
  { mode: 'translation', load: { kind: 'burst', bodyBytes: 2_500, connections: 1, thinkMs: 200 } },
]

const nameOf = (mode: Calls['mode'], kind: Kind): string => `${mode}/${kind}`

/** Entries of `model_list`: an Anthropic upstream whose bytes are passed on, and a chat upstream whose are translated. */
export function modelsAt(upstream: string): object[] {
  const prices = { input_cost_per_token: 0.000_003, output_cost_per_token: 0.000_015 }
  const common = { api_key: 'sk-upstream-0123', ...prices }
  return kinds.flatMap(kind => [
    {
      model_name: nameOf('passthrough', kind),
      params: { model: `anthropic/${kind}`, api_base: upstream + messagesBaseOf(kind), ...common },
    },
    {
      model_name: nameOf('translation', kind),
      params: { model: `openai-compatible/${kind}`, api_base: upstream + chatBaseOf(kind), ...common },
    },
  ])
}

/** What the loads together brought. */
export interface CallsOutcome {
  readonly calls: number
  readonly broken: number
  readonly lostEvents: number
  readonly stalls: number
  /** Why loads ended early, and what was wrong with the first broken call of each. */
  readonly faults: readonly string[]
}

/** Sends model calls of all kinds with `key` for a time. */
export async function sendCalls(
  { url }: Server,
  { key, durationMs, folder }: { readonly key: string; readonly durationMs: number; readonly folder: string },
): Promise<CallsOutcome> {
  const settled = await Promise.allSettled(
    loads.map(({ mode, load }) => {
      const model = nameOf(mode, load.kind)
      const endpoint = { origin: url, path: '/v1/messages', model, headers: { 'x-api-key': key } }
      return sendGatewayLoad(endpoint, { ...load, durationMs }, folder)
    }),
  )
  const done = settled.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
  const rejected = settled.flatMap(result => (result.status === 'rejected' ? [String(result.reason)] : []))
  const sum = (field: 'calls' | 'broken' | 'lostEvents' | 'stalls'): number =>
    done.reduce((total, result: LoadResult) => total + result[field], 0)
  return {
    calls: sum('calls'),
    broken: sum('broken') + rejected.length,
    lostEvents: sum('lostEvents'),
    stalls: sum('stalls'),
    faults: [...rejected, ...done.flatMap(({ fault }) => fault ?? [])],
  }
}
