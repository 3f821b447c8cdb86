import { startServer } from '../server.ts'
import { startBareProxy } from '../start-bare-proxy.ts'
import { type UpstreamPath, upstreamModels, upstreamPaths } from './answers.ts'
import type { Caller, Scenario } from './scenarios.ts'

/** A started program between the client and the upstream. */
export interface Running {
  readonly pid: number
  /** Where the calls of a scenario go, and with which headers. */
  target(scenario: Scenario): { readonly url: string; readonly headers: Readonly<Record<string, string>> }
  stop(): Promise<void>
}

/** A program that is compared. */
export interface Contender {
  readonly name: string
  start(): Promise<Running>
}

/** The name by which clients know the model of an upstream path. */
export const aliasOf = (path: UpstreamPath): string => `bench/${path}`

/** Relays the bytes of the upstream: the same body in, and the upstream's own answer out. */
export const bareProxy = (upstream: string): Contender => ({
  name: 'bare proxy',
  async start() {
    const { answer, pid, stop } = await startBareProxy(upstream)
    const target: Running['target'] = scenario => ({
      url: answer.origin + upstreamPaths[scenario.upstream],
      headers: {},
    })
    return { pid, target, stop }
  },
})

interface Tree {
  readonly name: string
  /** The folder of the program; this tree unless given. */
  readonly root?: string
  readonly upstream: string
  /** The database lies here. */
  readonly dataDir: string
}

/** The service with all that it does for a call, as `npm start` starts it in a tree of this repository. */
export const service = ({ name, root, upstream, dataDir }: Tree): Contender => ({
  name,
  async start() {
    const config = configOf(upstream)
    const { url, key, pid, stop } = await startServer({ dataDir, config, ...(root !== undefined && { root }) })
    const keys: Readonly<Record<Caller, string>> = {
      master: key,
      key: await virtualKey(url, key, {}),
      budget: await virtualKey(url, key, { max_budget: 1_000_000 }),
    }
    const target: Running['target'] = ({ path, caller }) => ({
      url: url + path,
      headers:
        path === '/v1/messages'
          ? { 'x-api-key': keys[caller], 'anthropic-version': '2023-06-01' }
          : { authorization: `Bearer ${keys[caller]}` },
    })
    return { pid, target, stop }
  },
})

/** The first start makes the database, which is no part of any figure. */
export const prepare = async (contender: Contender): Promise<void> => (await contender.start()).stop()

async function virtualKey(url: string, masterKey: string, limits: object): Promise<string> {
  const answer = await fetch(`${url}/api/keys`, {
    method: 'POST',
    headers: { 'x-api-key': masterKey, 'content-type': 'application/json' },
    body: JSON.stringify({ label: 'bench', ...limits }),
  })
  if (answer.status !== 201) throw new Error(`POST /api/keys answered ${answer.status}: ${await answer.text()}`)
  return ((await answer.json()) as { key: string }).key
}

/** Models are pinned to a protocol and have prices of their own, so that every tree serves them in the same way. */
function configOf(upstream: string): string {
  const model = (path: UpstreamPath, params: { readonly model: string; api_base: string; protocol: string }) => ({
    model_name: aliasOf(path),
    params: {
      ...params,
      api_key: 'sk-upstream-0123',
      input_cost_per_token: 0.000_003,
      output_cost_per_token: 0.000_015,
    },
  })
  const messages = (path: UpstreamPath) => {
    const api_base = upstream + upstreamPaths[path].replace('/v1/messages', '')
    return model(path, { model: `anthropic/${upstreamModels.messages}`, api_base, protocol: 'anthropic-messages' })
  }
  const chat = { model: `openai-compatible/${upstreamModels.chat}`, api_base: `${upstream}/whole/v1` }
  const gemini = { model: `gemini/${upstreamModels.gemini}`, api_base: `${upstream}/burst` }
  return JSON.stringify({
    model_list: [
      messages('whole'),
      messages('paced'),
      messages('burst'),
      model('chat', { ...chat, protocol: 'openai-chat' }),
      model('gemini', { ...gemini, protocol: 'gemini' }),
    ],
    outbound: { allow: [new URL(upstream).host] },
    // More than the load needs: rejected calls would be measured in place of served ones.
    limits: { max_streams: 10_000, max_loop_delay_ms: 60_000 },
  })
}
