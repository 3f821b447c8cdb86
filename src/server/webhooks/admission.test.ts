import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import type { WebhookConfig } from '../../contract/webhooks.ts'
import type { StoredAgent } from '../agents/store.ts'
import { createAddressOf } from '../http/client-address.ts'
import { AppError } from '../platform/errors.ts'
import { createAdmission } from './admission.ts'

const token = 'the-right-token'
const master = 'sk-master-0123456789'

/** An admission over one agent, `agent_1`; `asked` are the names that the vault was asked for. */
function admissionOver(webhook: WebhookConfig = {}, admits: () => boolean = () => true) {
  const asked: string[] = []
  const agent = { id: 'agent_1', owner_id: 'team', status: 'active', config: { webhook } } as unknown as StoredAgent
  const { admit } = createAdmission({
    agents: { find: async id => (id === agent.id ? agent : undefined) },
    vault: {
      value: async ({ name }) => {
        asked.push(name)
        return name === 'WEBHOOK_agent_1_SECRET' ? token : undefined
      },
    },
    masterKey: master,
    logins: { admits },
    addressOf: createAddressOf([]),
    log: { warn: () => undefined },
    nowMs: () => 0,
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
  return { outcome, asked }
}

test('S27: an agent that does not exist costs the same questions as a wrong token, and the answer is the same', async () => {
  const { outcome, asked } = admissionOver()
  assert.equal(await outcome('agent_1', 'wrong'), 'unauthorized')
  assert.deepEqual(asked.splice(0), ['WEBHOOK_agent_1_SECRET'])
  assert.equal(await outcome('agent_2', token), 'unauthorized')
  assert.deepEqual(asked.splice(0), ['WEBHOOK_agent_2_SECRET'])
  assert.equal(await outcome('agent_1', token), 'let in')
})

test('S53: wrong tokens above the limit of their address are 429, and the right one still works', async () => {
  let refusals = 0
  const { outcome } = admissionOver({}, () => ++refusals <= 2)
  const answers = []
  for (let at = 0; at < 4; at++) answers.push(await outcome('agent_1', 'wrong'))
  assert.deepEqual(answers, ['unauthorized', 'unauthorized', 'rate_limited 60', 'rate_limited 60'])
  assert.equal(await outcome('agent_1', token), 'let in')
  assert.equal(await outcome('agent_2', token), 'rate_limited 60')
})

test('S27: the master key, no token and an id with odd characters are refused, the last without any question', async () => {
  const { outcome, asked } = admissionOver()
  assert.equal(await outcome('agent_1', master), 'unauthorized')
  assert.equal(await outcome('agent_1'), 'unauthorized')
  asked.splice(0)
  assert.equal(await outcome("agent_1'; --\0", token), 'unauthorized')
  assert.deepEqual(asked, [])
})

test('with mode instead a request without a signature is refused before its body is read, whatever its token', async () => {
  const { outcome } = admissionOver({ signature: { preset: 'github', secret_key: 'X', mode: 'instead' } })
  assert.equal(await outcome('agent_1', token), 'unauthorized')
  assert.equal(await outcome('agent_1'), 'unauthorized')
})
