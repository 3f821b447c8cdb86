import { join } from 'node:path'
import { type Kind, kinds, messagesBaseOf } from '../exchange.ts'
import { startServer } from '../server.ts'
import { startBareProxy } from '../start-bare-proxy.ts'
import { chatBaseOf } from './chat-exchange.ts'
import type { Endpoint } from './gateway-load.ts'
import { startClaudeCodeRouter, startPortkey } from './peers.ts'
import type { Running, Setting } from './running.ts'
import type { ScenarioName } from './scenario-name.ts'

/** Raw: client and upstream speak Anthropic's format. Translated: the upstream speaks OpenAI's chat completions. */
export type Mode = 'passthrough' | 'translation'

/** The programs that are compared. */
export type Program =
  | 'direct'
  | 'bare proxy'
  | 'Switchyard'
  | 'Switchyard, virtual key'
  | 'Switchyard, key with a budget'
  | 'Portkey'
  | 'claude-code-router'

/** Something that may stand between a client and a model provider, in one mode. */
export interface Contender {
  readonly program: Program
  readonly mode: Mode
  /** The share of the usual number of calls that it is given: less where a call costs twenty times as much. */
  readonly share: number
  /** The only scenarios that it takes part in; all that fit its mode unless given. */
  readonly only?: readonly ScenarioName[]
  start(setting: Setting): Promise<Running>
}

/** Every contender, in the order of a round. in translation the yardstick relays the bytes of the chat stream. */
export const contenders: readonly Contender[] = [
  { program: 'direct', mode: 'passthrough', share: 1, start: startDirect('passthrough') },
  { program: 'bare proxy', mode: 'passthrough', share: 1, start: startYardstick('passthrough') },
  { program: 'Switchyard', mode: 'passthrough', share: 1, start: startSwitchyard('bench') },
  {
    program: 'Switchyard, virtual key',
    mode: 'passthrough',
    share: 1,
    only: ['json'],
    start: startSwitchyard('bench', {}),
  },
  {
    program: 'Switchyard, key with a budget',
    mode: 'passthrough',
    share: 1,
    only: ['json'],
    start: startSwitchyard('bench', { max_budget: 1_000_000 }),
  },
  { program: 'Portkey', mode: 'passthrough', share: 0.25, start: startPortkey },
  { program: 'direct', mode: 'translation', share: 1, start: startDirect('translation') },
  { program: 'bare proxy', mode: 'translation', share: 1, start: startYardstick('translation') },
  { program: 'Switchyard', mode: 'translation', share: 1, start: startSwitchyard('chat') },
  { program: 'claude-code-router', mode: 'translation', share: 0.25, start: startClaudeCodeRouter },
]

/** Asks the upstream in its own dialect. */
function plainEndpoint(origin: string, mode: Mode, kind: Kind): Endpoint {
  const path = mode === 'passthrough' ? `${messagesBaseOf(kind)}/v1/messages` : `${chatBaseOf(kind)}/chat/completions`
  return { origin, path, model: `bench/${kind}`, headers: {} }
}

function startDirect(mode: Mode): Contender['start'] {
  return async ({ upstream }) => ({
    pid: undefined,
    endpoint: kind => plainEndpoint(upstream, mode, kind),
    stop: async () => undefined,
  })
}

function startYardstick(mode: Mode): Contender['start'] {
  return async ({ upstream }) => {
    const { answer, pid, stop } = await startBareProxy(upstream)
    return { pid, endpoint: kind => plainEndpoint(answer.origin, mode, kind), stop }
  }
}

/**
 * The service with all that it does for a call: key, checks, routing, log, booking in its embedded database. Models
 * `bench/*` are those of an Anthropic upstream, `chat/*` those of a chat one. Calls come with a virtual key of these limits, if given; no
 * scenario uses up a budget of a million.
 */
export function startSwitchyard(
  models: 'bench' | 'chat',
  limits?: { readonly max_budget?: number },
): Contender['start'] {
  return async ({ upstream, folder }) => {
    const { url, key, pid, stop } = await startServer({ dataDir: join(folder, 'data'), config: configOf(upstream) })
    const headers = { 'x-api-key': limits ? await virtualKey(url, key, limits) : key }
    return {
      pid,
      endpoint: kind => ({ origin: url, path: '/v1/messages', model: `${models}/${kind}`, headers }),
      stop,
    }
  }
}

async function virtualKey(url: string, masterKey: string, limits: object): Promise<string> {
  const answer = await fetch(`${url}/api/keys`, {
    method: 'POST',
    headers: { 'x-api-key': masterKey, 'content-type': 'application/json' },
    body: JSON.stringify({ label: 'bench', ...limits }),
  })
  if (answer.status !== 201) throw new Error(`no key: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { key: string }).key
}

/** More than any scenario needs: what is rejected has no cost. */
const serviceLimits = { max_streams: 10_000, max_loop_delay_ms: 60_000 }

/** Without a price a key with a budget is rejected. */
const prices = { input_cost_per_token: 0.000_003, output_cost_per_token: 0.000_015 }

function configOf(upstream: string): string {
  const api_key = 'sk-upstream-0123'
  const chat = kinds.map(kind => ({
    model_name: `chat/${kind}`,
    params: { model: `openai-compatible/${kind}`, api_base: `${upstream}${chatBaseOf(kind)}`, api_key },
  }))
  const passthrough = kinds.map(kind => ({
    model_name: `bench/${kind}`,
    params: { model: `anthropic/${kind}`, api_base: upstream + messagesBaseOf(kind), api_key, ...prices },
  }))
  return JSON.stringify({
    model_list: [...passthrough, ...chat],
    outbound: { allow: [new URL(upstream).host] },
    limits: serviceLimits,
  })
}
