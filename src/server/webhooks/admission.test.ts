import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import type { WebhookConfig } from '../../contract/webhooks.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import { createAddressOf } from '../http/client-address.ts'
import { AppError } from '../platform/errors.ts'
import { createAdmission } from './admission.ts'

const token = 'the-right-token'
const master = 'sk-master-0123456789'

/** An admission over one agent, `agent_1`; `lookups` are the names that were looked up in the vault. */
function admissionOver(webhook: WebhookConfig = {}, admits: () => boolean = () => true) {
  const lookups: string[] = []
  const counts: (readonly [agentId: string, kind: string])[] = []
  const agent = { id: 'agent_1', owner_id: 'team', status: 'active', config: { webhook } } as unknown as StoredAgent
  const { admit } = createAdmission({
    agents: { find: async id => (id === agent.id ? agent : undefined) },
    vault: {
      value: async ({ name }) => {
        lookups.push(name)
        return name === 'WEBHOOK_agent_1_SECRET' ? token : undefined
      },
    },
    masterKey: master,
    logins: { admits },
    addressOf: createAddressOf([]),
    log: { warn: () => undefined },
    nowMs: () => 0,
    counts: { add: (...counted) => void counts.push(counted) },
  })
  const outcome = (agentId: string, bearer?: string): Promise<string> => {
    const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
    const request = { headers, rawHeaders: Object.entries(headers).flat(), socket: { remoteAddress: '192.0.2.1' } }
    return admit(agentId, request as unknown as IncomingMessage).then(
      () => 'let in',
      (error: unknown) =>
        error instanceof AppError ? `${error.code} ${error.headers['retry-after'] ?? ''}`.trim() : String(error),
    )
  }
  return { outcome, lookups, counts }
}

test('S27: an unknown agent causes the same look-ups and the same response as a wrong token', async () => {
  const { outcome, lookups, counts } = admissionOver()
  assert.equal(await outcome('agent_1', 'wrong'), 'unauthorized')
  assert.deepEqual(lookups.splice(0), ['WEBHOOK_agent_1_SECRET'])
  assert.equal(await outcome('agent_2', token), 'unauthorized')
  assert.deepEqual(lookups.splice(0), ['WEBHOOK_agent_2_SECRET'])
  assert.equal(await outcome('agent_1', token), 'let in')
  assert.deepEqual(counts, [['agent_1', 'invalid_token']], 'agents that do not exist are not counted')
})

test('S53: wrong tokens above the limit of their address are 429, and the right one still works', async () => {
  let rejections = 0
  const { outcome } = admissionOver({}, () => ++rejections <= 2)
  const answers = []
  for (let at = 0; at < 4; at++) answers.push(await outcome('agent_1', 'wrong'))
  assert.deepEqual(answers, ['unauthorized', 'unauthorized', 'rate_limited 60', 'rate_limited 60'])
  assert.equal(await outcome('agent_1', token), 'let in')
  assert.equal(await outcome('agent_2', token), 'rate_limited 60')
})

test('S27: the master key, a missing token and an invalid id are rejected, the last without a look-up', async () => {
  const { outcome, lookups } = admissionOver()
  assert.equal(await outcome('agent_1', master), 'unauthorized')
  assert.equal(await outcome('agent_1'), 'unauthorized')
  lookups.splice(0)
  assert.equal(await outcome("agent_1'; --\0", token), 'unauthorized')
  assert.deepEqual(lookups, [])
})

test('with mode instead a request without a signature is rejected before its body is read, with any token', async () => {
  const { outcome } = admissionOver({ signature: { preset: 'github', secret_key: 'X', mode: 'instead' } })
  assert.equal(await outcome('agent_1', token), 'unauthorized')
  assert.equal(await outcome('agent_1'), 'unauthorized')
})
