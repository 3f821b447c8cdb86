import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import { allRoutes } from '../../src/contract/api.ts'
import type { AuditEntry } from '../../src/contract/audit.ts'
import type { ApiKey } from '../../src/contract/keys.ts'
import { startScriptedService } from '../support/scripted-service.ts'
import { type Answered, type Sent, send } from '../support/send.ts'

const { service } = await startScriptedService()

/** A change, and what the log must say of it. */
interface Change extends Sent {
  readonly line: string
  readonly action: string
  /** Found in the answer unless given. */
  readonly objectId?: string
}

const secret = 'value-of-a-secret-that-no-log-holds'
const agentFields = { name: 'Audited', owner_id: 'team', system: 'The prompt itself.' }
const newAgent = async () => (await send(service, 'POST /api/agents', { body: agentFields })).json<Agent>().id
const newKey = async () => (await send(service, 'POST /api/keys', { body: { label: 'audited' } })).json<ApiKey>().id

const ofAgent =
  (verb: string, line = `POST /api/agents/{id}/${verb}`, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const objectId = await newAgent()
    return { ...sent, line: line.replace('{id}', objectId), action: `agent.${verb}`, objectId }
  }
const ofKey =
  (verb: string, line: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const objectId = await newKey()
    return { ...sent, line: line.replace('{id}', objectId), action: `key.${verb}`, objectId }
  }

let models = 0
const newModel = () => ({ model_name: `added-${++models}`, params: { model: 'anthropic/claude-x', api_key: secret } })
const ofModel =
  (verb: string, line: string, sent: Sent = {}) =>
  async (): Promise<Change> => {
    const made = await send(service, 'POST /api/models', { body: newModel() })
    const objectId = made.json<{ id: string }>().id
    return { ...sent, line: line.replace('{id}', objectId), action: `model.${verb}`, objectId }
  }

/** One change a route of the contract, ready to be made. */
const changes: Readonly<Record<string, () => Promise<Change>>> = {
  'agents.create': async () => ({ line: 'POST /api/agents', body: agentFields, action: 'agent.create' }),
  'agents.update': ofAgent('update', 'PATCH /api/agents/{id}', { body: { ...agentFields, name: 'Renamed' } }),
  'agents.remove': ofAgent('delete', 'DELETE /api/agents/{id}'),
  'agents.pause': ofAgent('pause'),
  'agents.resume': ofAgent('resume'),
  'agents.archive': ofAgent('archive'),
  'agents.rollback': ofAgent('rollback', 'POST /api/agents/{id}/versions/1/rollback'),
  'keys.create': async () => ({ line: 'POST /api/keys', body: { label: 'made' }, action: 'key.create' }),
  'keys.update': ofKey('update', 'PATCH /api/keys/{id}', { body: { label: 'renamed' } }),
  'keys.rotate': ofKey('rotate', 'POST /api/keys/{id}/rotate', { body: { grace: '1h' } }),
  'keys.remove': ofKey('delete', 'DELETE /api/keys/{id}'),
  'providers.set': async () => ({
    line: 'PUT /api/providers/gemini',
    body: { api_key: secret },
    action: 'provider.set',
    objectId: 'gemini',
  }),
  'providers.remove': async () => {
    await send(service, 'PUT /api/providers/gemini', { body: { api_key: secret } })
    return { line: 'DELETE /api/providers/gemini', action: 'provider.delete', objectId: 'gemini' }
  },
  'model_settings.create': async () => ({ line: 'POST /api/models', body: newModel(), action: 'model.create' }),
  'model_settings.update': ofModel('update', 'PATCH /api/models/{id}', { body: { params: { weight: 2 } } }),
  'model_settings.remove': ofModel('delete', 'DELETE /api/models/{id}'),
  'budgets.set': async () => ({
    line: 'PUT /api/budgets/owner/team',
    body: { max_budget: 5 },
    action: 'budget.set',
    objectId: 'owner:team',
  }),
  'budgets.remove': async () => {
    await send(service, 'PUT /api/budgets/owner/going', { body: { max_budget: 5 } })
    return { line: 'DELETE /api/budgets/owner/going', action: 'budget.delete', objectId: 'owner:going' }
  },
  'vault.set': async () => ({
    line: 'POST /api/vault',
    body: { key: 'AUDITED', value: secret },
    action: 'vault.set',
    objectId: 'AUDITED',
  }),
  'vault.remove': async () => {
    await send(service, 'POST /api/vault', { body: { key: 'GOING', value: secret } })
    return { line: 'DELETE /api/vault/GOING', action: 'vault.delete', objectId: 'GOING' }
  },
}

/** Changing routes that change no configuration, with the reason. */
const exempt: readonly (readonly [ids: RegExp, reason: string])[] = [
  [/^(messages|openai)\./, 'model calls are in the ledger'],
  [/^(sessions|managed_sessions)\./, 'sessions and prompts have a log of their own'],
  [/^providers[.]test$/, 'it asks a provider and changes nothing'],
  [/^events\./, 'events are such a log; a ticket opens one stream for a minute'],
]

const changing = allRoutes.filter(({ method }) => method !== 'GET')
const isExempt = (id: string) => exempt.some(([ids]) => ids.test(id))

const entriesOf = async (query: string): Promise<AuditEntry[]> =>
  (await send(service, `GET /api/audit?limit=200&${query}`)).json<{ entries: AuditEntry[] }>().entries
const everyEntry = () => entriesOf('')
const requestIdOf = ({ headers }: Answered) => headers['request-id']

test('S55: every changing route is either audited or listed as one that changes no configuration', () => {
  const audited = changing.map(({ id }) => id).filter(id => !isExempt(id))
  assert.deepEqual(Object.keys(changes).sort(), audited.sort())
  for (const [ids, reason] of exempt) {
    assert.ok(
      changing.some(({ id }) => ids.test(id)),
      `nothing is exempt because ${reason}`,
    )
  }
})

for (const { id, body } of changing.filter(route => !isExempt(route.id))) {
  test(`S55: ${id} is one entry in the log, with who asked and what it was about`, async () => {
    const { line, action, objectId, ...sent } = (await changes[id]?.()) ?? assert.fail(`no change is written for ${id}`)
    const before = await everyEntry()
    const answer = await send(service, line, sent)
    assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
    const added = (await everyEntry()).filter(({ id: entryId }) => before.every(known => known.id !== entryId))
    assert.equal(added.length, 1, JSON.stringify(added))
    const [entry] = added
    assert.deepEqual(
      { ...entry, id: '', created_at: '', owner_id: '', before: null, after: null },
      {
        id: '',
        created_at: '',
        principal: 'master',
        role: 'admin',
        key_id: null,
        address: '127.0.0.1',
        request_id: requestIdOf(answer),
        action,
        object_id: objectId ?? answer.json<{ id: string }>().id,
        owner_id: '',
        before: null,
        after: null,
      },
    )
  })

  test(`S55: ${id} leaves no entry when it is refused`, async () => {
    const { line, ...sent } = (await changes[id]?.()) ?? assert.fail(`no change is written for ${id}`)
    const before = await everyEntry()
    const unauthorized = await send({ url: service.url, key: 'sk-nobody' }, line, sent)
    assert.equal(unauthorized.status, 401)
    if (body) assert.equal((await send(service, line, { body: '{' })).status, 400)
    const missing = line.replace(/(agents|keys|vault|providers|models)\/[^/]+/, '$1/nothing')
    if (missing !== line) assert.equal((await send(service, missing, sent)).status, 404)
    assert.equal((await everyEntry()).length, before.length)
  })
}

test('a change with a virtual key names the key', async () => {
  const made = await send(service, 'POST /api/keys', { body: { label: 'second', owner_id: 'team' } })
  const { id, key } = made.json<{ id: string; key: string }>()
  const agent = (await send({ url: service.url, key }, 'POST /api/agents', { body: agentFields })).json<Agent>()
  const [entry] = await entriesOf(`object_id=${agent.id}`)
  assert.deepEqual([entry?.principal, entry?.role, entry?.key_id], ['team', 'user', id])
})

test('a creation that is repeated under its Idempotency-Key is one entry', async () => {
  const sent = { headers: { 'idempotency-key': 'audited-once' }, body: agentFields }
  const answers = await Promise.all(Array.from({ length: 4 }, () => send(service, 'POST /api/agents', sent)))
  const [first] = answers
  const { id } = first?.json<Agent>() ?? assert.fail('no answer')
  assert.equal((await entriesOf(`object_id=${id}`)).length, 1)
})

test('a change of an agent shows its fields before and after; long texts as digest and size, never as they are', async () => {
  const id = await newAgent()
  const system = 'A much longer prompt that only the owner reads.'
  await send(service, `PATCH /api/agents/${id}`, {
    body: { ...agentFields, name: 'After', system, tools: [{ type: 'mcp', auth: secret }], config: { note: secret } },
  })
  const [update, create] = await entriesOf(`object_id=${id}`)
  assert.equal(create?.before, null)
  assert.equal(create?.owner_id, 'team')
  assert.deepEqual(update?.before, create?.after)
  const { name, version, status, model, system: prompt } = update?.after ?? {}
  assert.deepEqual([name, version, status, model], ['After', 2, 'active', 'scripted'])
  assert.deepEqual(Object.keys(prompt ?? {}), ['sha256', 'bytes'])
  assert.equal((prompt as { bytes: number }).bytes, Buffer.byteLength(system))
  assert.doesNotMatch(JSON.stringify([update, create]), new RegExp(`${system}|${agentFields.system}|${secret}`))
})

test('no entry holds a secret that a change carried', async () => {
  const csv = await send(service, 'GET /api/audit?format=csv')
  assert.ok(csv.text.split('\r\n').length > 20)
  assert.ok(!csv.text.includes(secret))
  assert.doesNotMatch(csv.text, /sk-[\w-]{20}/)
})
