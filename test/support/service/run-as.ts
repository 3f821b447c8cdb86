import { after } from 'node:test'
import { Client } from 'pg'
import type { Agent } from '../../../src/contract/agents.ts'
import type { Prompt } from '../../../src/contract/prompts.ts'
import { startPricedService } from '../keys/priced-service.ts'
import { eventually } from './eventually.ts'
import { type Answered, send, sendOk, type Target } from './send.ts'

/** One call of such an agent may cost ten cents, and costs ten. */
export const oneCall = 0.1

const secret = 'webhook-token-0123456789'

/** A service with a priced model, agents with a webhook, and a query for the keys that paid. Ends with the file. */
export async function startTriggeredService() {
  const priced = await startPricedService()
  const { service } = priced
  const database = new Client({ connectionString: service.databaseUrl })
  database.on('error', () => undefined)
  await database.connect()
  after(() => database.end())

  const as = (key: string): Target => ({ url: service.url, key })
  const promptsOf = async (session: string): Promise<Prompt[]> =>
    (await sendOk<{ data: Prompt[] }>(service, `GET /session/${session}/prompts`)).data

  return {
    ...priced,
    database,
    as,
    okAs: sendOk,
    /** An agent on the priced model, made by `target`. */
    newAgent: (target: Target, fields: object = {}): Promise<Agent> =>
      sendOk(target, 'POST /api/agents', {
        body: { name: 'Hooked', owner_id: 'ada', model: 'priced', config: { max_tokens: 100 }, ...fields },
      }),
    agentOf: (id: string): Promise<Agent> => sendOk(service, `GET /api/agents/${id}`),
    /** Stores the token of the agent's webhook: for the owner of the key, or for all with the master key. */
    setSecret: (target: Target, { id }: Agent) =>
      sendOk(target, 'POST /api/vault', { body: { key: `WEBHOOK_${id}_SECRET`, value: secret } }),
    /** Delivers as a sender that knows the token. */
    deliver: ({ id }: Agent): Promise<Answered> =>
      send({ url: service.url, key: secret }, `POST /api/agents/${id}/webhook`, { body: { say: 'hi' } }),
    promptsOf,
    /** How the first prompt of a session ended, or that a budget holds it. */
    async endOf(session: string): Promise<string> {
      await eventually(
        async () =>
          (await promptsOf(session)).every(({ state, held_by }) => held_by !== null || !/waiting|running/.test(state)),
        { what: 'the end of the prompt' },
      )
      const [prompt] = await promptsOf(session)
      return prompt?.held_by ?? prompt?.state ?? 'none'
    },
    /** The keys that the calls of a session were booked on. */
    async payersOf(session: string): Promise<(string | null)[]> {
      await eventually(
        async () => (await database.query('select from usage where session_id = $1', [session])).rowCount !== 0,
        { what: 'a row of the ledger' },
      )
      const text = 'select distinct key_id from usage where session_id = $1'
      return (await database.query<{ key_id: string | null }>(text, [session])).rows.map(({ key_id }) => key_id)
    },
  }
}
