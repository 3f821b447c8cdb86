import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { Agent } from '../../../src/contract/agents.ts'
import { textOfContent } from '../../../src/contract/events.ts'
import type { Prompt } from '../../../src/contract/prompts.ts'
import type { Session } from '../../../src/contract/sessions.ts'
import type { Delivery, WebhookConfig } from '../../../src/contract/webhooks.ts'
import { createPool } from '../../../src/server/db/connect.ts'
import { type Answered, type Sent, send } from '../service/send.ts'
import { startScriptedService } from '../upstream/scripted-service.ts'

/** The token of every agent that names no other entry. */
export const secret = 'webhook-token-0123456789'

/** A service for a file of tests on webhooks, and access to its database. Both end with the file. */
export async function startWebhookService() {
  const { service } = await startScriptedService()
  const database = createPool({ url: service.databaseUrl, max: 3, onLost: () => undefined })
  after(() => database.end())

  async function setSecret(key: string, value: string): Promise<void> {
    const answer = await send(service, 'POST /api/vault', { body: { key, value } })
    assert.equal(answer.status, 200, answer.text)
  }

  /** An agent with a webhook, whose token is `secret` unless its settings name another entry. */
  async function newAgent(webhook: WebhookConfig = {}, fields: object = {}): Promise<Agent> {
    const body = { name: 'Hooked', owner_id: 'team', config: { webhook }, ...fields }
    const answer = await send(service, 'POST /api/agents', { body })
    assert.equal(answer.status, 201, answer.text)
    const agent = answer.json<Agent>()
    if (webhook.secret_key === undefined) await setSecret(`WEBHOOK_${agent.id}_SECRET`, secret)
    return agent
  }

  /** Delivers to an agent, as anybody unless the headers say more. */
  const post = (agentId: string, sent: Sent): Promise<Answered> =>
    send({ url: service.url }, `POST /api/agents/${agentId}/webhook`, sent)

  const sessionOf = async (id: string): Promise<Session> => (await send(service, `GET /session/${id}`)).json<Session>()

  /** The prompts of a session as text. */
  async function messagesOf(sessionId: string): Promise<string[]> {
    const answer = await send(service, `GET /session/${sessionId}/prompts`)
    assert.equal(answer.status, 200, answer.text)
    return answer.json<{ data: Prompt[] }>().data.map(({ parts }) => textOfContent(parts))
  }

  return { service, database, setSecret, newAgent, post, sessionOf, messagesOf }
}

export const deliveriesOf = (answer: Answered): Delivery[] => answer.json<{ deliveries: Delivery[] }>().deliveries
