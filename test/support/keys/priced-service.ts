import { after } from 'node:test'
import type { Budget, BudgetWrite } from '../../../src/contract/budgets.ts'
import type { ApiKey, ApiKeyWrite, ShownApiKey } from '../../../src/contract/keys.ts'
import { type Answered, type Sent, send, sendOk } from '../service/send.ts'
import { type ServiceOptions, startService } from '../service/service.ts'
import type { Script } from '../upstream/scripted-upstream.ts'
import { startScriptedUpstream } from '../upstream/scripted-upstream.ts'

/** A tenth of a cent for each token of output, and nothing for input: 100 tokens cost ten cents. */
export const priced = { input_cost_per_token: 0, output_cost_per_token: 0.001 }

/** What an answer that costs ten cents has used. */
export const tenCents = { input_tokens: 1_000, output_tokens: 100 }

/** A call that may cost ten cents. */
export const call = { model: 'priced', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }

interface Options extends Omit<ServiceOptions, 'config'> {
  /** Ten cents an answer unless given. */
  readonly script?: Script
  /** Besides `priced`, `other` and `unpriced`: parameters by model. */
  readonly models?: Readonly<Record<string, object>>
  /** More of the configuration file. */
  readonly config?: object
}

/** A service whose models have round prices and are played by a scripted upstream; both end with the file. */
export async function startPricedService({ script, models = {}, config = {}, ...options }: Options = {}) {
  const upstream = await startScriptedUpstream({ script: script ?? [{ usage: tenCents }] })
  const entries = Object.entries({ priced, other: priced, unpriced: {}, ...models })
  const service = await startService({
    ...options,
    config: JSON.stringify({
      model_list: entries.map(([name, params]) => ({
        model_name: name,
        params: { model: `anthropic/${name}`, api_base: upstream.url, api_key: 'sk-upstream', ...params },
      })),
      outbound: { allow: [`127.0.0.1:${upstream.port}`] },
      ...config,
    }),
  })
  after(() => upstream.stop())

  const ok = <T>(line: string, sent: Sent = {}): Promise<T> => sendOk(service, line, sent)
  return {
    service,
    upstream,
    ok,
    /** A new key; with the master key. */
    key: (write: ApiKeyWrite = {}): Promise<ShownApiKey> => ok('POST /api/keys', { body: write }),
    keyRecord: (id: string): Promise<ApiKey> => ok(`GET /api/keys/${id}`),
    setBudget: (scope: string, id: string, body: BudgetWrite): Promise<Budget> =>
      ok(`PUT /api/budgets/${scope}/${encodeURIComponent(id)}`, { body }),
    budget: (scope: string, id: string): Promise<Budget> => ok(`GET /api/budgets/${scope}/${encodeURIComponent(id)}`),
    /** A model call with a key. */
    request: (key: string, body: object = {}, line = 'POST /v1/messages'): Promise<Answered> =>
      send({ ...service, key }, line, { body: { ...call, ...body } }),
  }
}
