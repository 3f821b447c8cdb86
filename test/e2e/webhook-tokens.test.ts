import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allRoutes } from '../../src/contract/api.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { open, type Sent, send } from '../support/service/send.ts'
import { secret, startWebhookService } from '../support/triggers/webhooks.ts'

const { newAgent, post, service, setSecret } = await startWebhookService()
const unauthorized = '{"error":{"type":"gateway_error","message":"unauthorized"}}'
const { id } = await newAgent()
await setSecret('OTHER_TOKEN', 'the-token-of-another-agent')
const other = (await newAgent({ secret_key: 'OTHER_TOKEN' })).id
await setSecret('BLANK', '\n \n')
const blank = (await newAgent({ secret_key: 'BLANK' })).id
const missing = (await newAgent({ secret_key: 'NOT_IN_THE_VAULT' })).id
const none = (await newAgent({})).id

const bearer = (token: string): Sent => ({ headers: { authorization: `Bearer ${token}` }, body: {} })
const admin = await holderOf(service, { role: 'admin' })
const user = await holderOf(service, { owner_id: 'team' })

/** Credentials at the webhook of an agent. All must look the same to the sender. */
const refused: readonly (readonly [name: string, agent: string, sent: Sent])[] = [
  ['no credential', id, { body: {} }],
  ['a wrong token', id, bearer('wrong')],
  ['an empty token', id, { headers: { authorization: 'Bearer ' }, body: {} }],
  ['the first half of the token', id, bearer(secret.slice(0, 8))],
  ['the token and more', id, bearer(`${secret}x`)],
  ['the token in quotes', id, bearer(`"${secret}"`)],
  ['the token in other case', id, bearer(secret.toUpperCase())],
  ['the token as x-api-key', id, { headers: { 'x-api-key': secret }, body: {} }],
  ['the token as x-goog-api-key', id, { headers: { 'x-goog-api-key': secret }, body: {} }],
  ['the token as a cookie', id, { headers: { cookie: `token=${secret}` }, body: {} }],
  ['two tokens', id, { headers: { authorization: [`Bearer ${secret}`, `Bearer ${secret}`] }, body: {} }],
  ['the token in the body', id, { body: { token: secret } }],
  ['the master key', id, bearer(service.key)],
  ['the key of an admin', id, bearer(admin.key ?? '')],
  ['the key of the owner', id, bearer(user.key ?? '')],
  ['the token of another agent', id, bearer('the-token-of-another-agent')],
  ['the token at another agent', other, bearer(secret)],
  ['a token that is not in the vault', missing, bearer(secret)],
  ['an empty token where the vault has none', missing, { headers: { authorization: 'Bearer ' }, body: {} }],
  ['an entry of blank lines, with a blank token', blank, { headers: { authorization: 'Bearer  ' }, body: {} }],
  ['an entry of blank lines, with no token', blank, { body: {} }],
  ['an agent without a webhook', none, bearer('')],
  ['an agent that does not exist', 'agent_nothing', bearer(secret)],
  ['an agent that does not exist, without a token', 'agent_nothing', { body: {} }],
  ['an id with a quote', "agent_1'--", bearer(secret)],
  ['an id with a slash', 'agent_1%2f..', bearer(secret)],
  ['a wrong token with a body that is not JSON', id, { ...bearer('wrong'), body: '{' }],
  [
    'a wrong token with another type',
    id,
    { headers: { authorization: 'Bearer wrong', 'content-type': 'text/plain' }, body: 'x' },
  ],
  [
    'an unknown agent with another type',
    'agent_nothing',
    { headers: { authorization: 'Bearer wrong', 'content-type': 'text/plain' }, body: 'x' },
  ],
  [
    'a wrong token with an encoded body',
    id,
    { headers: { authorization: 'Bearer wrong', 'content-encoding': 'gzip' }, body: 'x' },
  ],
]

for (const [name, agent, sent] of refused) {
  test(`S27: ${name} is the same 401 at a webhook`, async () => {
    const answer = await post(agent, sent)
    assert.deepEqual([answer.status, answer.text], [401, unauthorized])
    const { 'request-id': _, date: __, ...headers } = answer.headers
    const { 'request-id': ___, date: ____, ...ofUnknown } = (await post('agent_unknown', bearer('wrong'))).headers
    assert.deepEqual(headers, ofUnknown)
  })
}

test('S27: ?key= with the token opens no webhook', async () => {
  const answer = await send({ url: service.url }, `POST /api/agents/${id}/webhook?key=${secret}`, { body: {} })
  assert.deepEqual([answer.status, answer.text], [401, unauthorized])
})

for (const { id: name, method, path, access } of allRoutes.filter(
  route => route.access !== 'public' && route.access !== 'webhook',
)) {
  test(`S27: ${name} (${access}) does not take a webhook token`, async () => {
    const line = `${method} ${path
      .replaceAll('{agent_id}', id)
      .replaceAll('{version}', '1')
      .replaceAll(/\{\w+\}/g, 'nothing_1')}`
    const spellings = [{ authorization: `Bearer ${secret}` }, { 'x-api-key': secret }, { 'x-goog-api-key': secret }]
    for (const headers of spellings) {
      const response = await open({ url: service.url }, line, { headers })
      response.destroy()
      assert.equal(response.statusCode, 401, line)
    }
    const inQuery = await open({ url: service.url }, `${line}?key=${secret}&ticket=${secret}`)
    inQuery.destroy()
    assert.equal(inQuery.statusCode, 401, line)
  })
}

test('S27: the token opens its own webhook', async () => {
  assert.equal((await post(id, bearer(secret))).status, 202)
})
