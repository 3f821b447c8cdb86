import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createOpencodeClient, type Event, type OpencodeClient } from '@opencode-ai/sdk'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, type Target } from '../support/service/send.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService()
const clientOf = ({ url, key }: Target): OpencodeClient =>
  createOpencodeClient({ baseUrl: url, headers: { authorization: `Bearer ${key}` } })
const client = clientOf(service)
const model = { providerID: 'switchyard', modelID: 'scripted' }
const partsOf = (text: string) => [{ type: 'text' as const, text }]

interface Shown {
  readonly type: string
  readonly properties: Readonly<Record<string, unknown>>
}

/** What a client sees from now on, until the end of the file. */
async function watch(from: OpencodeClient): Promise<readonly Shown[]> {
  const stop = new AbortController()
  after(() => stop.abort())
  const { stream } = await from.event.subscribe({ signal: stop.signal })
  const seen: Shown[] = []
  void (async () => {
    for await (const event of stream) seen.push(event as Event as Shown)
  })()
  await eventually(() => seen.length > 0, { what: 'the first event' })
  return seen
}

/** The session of an event, from any field that names it. */
function sessionOf({ properties }: Shown): unknown {
  const { sessionID, info, part } = properties as Record<string, { id?: unknown; sessionID?: unknown } | undefined>
  return sessionID ?? part?.sessionID ?? info?.sessionID ?? info?.id
}
const ofSession = (seen: readonly Shown[], id: string) => seen.filter(event => sessionOf(event) === id)
const find = (seen: readonly Shown[], id: string, type: string) =>
  eventually(() => ofSession(seen, id).find(event => event.type === type), { what: `${type} of ${id}` })

/** What a client has that keeps messages and parts by their id. */
function merged(seen: readonly Shown[]) {
  const infos = new Map<string, { id: string }>()
  const parts = new Map<string, { id: string; messageID: string }>()
  for (const { type, properties } of seen) {
    const { info, part } = properties as { info?: { id: string }; part?: { id: string; messageID: string } }
    if (type === 'message.updated' && info) infos.set(info.id, info)
    if (type === 'message.part.updated' && part) parts.set(part.id, part)
  }
  return [...infos.values()].map(info => ({
    info,
    parts: [...parts.values()].filter(({ messageID }) => messageID === info.id),
  }))
}

async function newSession(from = client, fields: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { data, error } = await from.session.create({ body: { title: 'watched', ...fields } })
  assert.equal(error, undefined)
  return data?.id ?? assert.fail('no session')
}

async function prompt(id: string, text: string): Promise<void> {
  const { response } = await client.session.promptAsync({ path: { id }, body: { model, parts: partsOf(text) } })
  assert.equal(response.status, 204)
}

test('a client that watches sees a session from its creation to its end, and has then what the message list gives', async () => {
  const seen = await watch(client)
  assert.equal(seen[0]?.type, 'server.connected')
  const id = await newSession()
  await find(seen, id, 'session.created')
  await prompt(
    id,
    saying({ thinking: 'Look first.', ...bash('echo hello') }, { text: 'It said hello to everybody here.' }),
  )
  await find(seen, id, 'session.idle')
  const mine = ofSession(seen, id)
  const { data } = await client.session.messages({ path: { id } })
  assert.deepEqual(merged(mine), data)
  assert.equal(data?.length, 2)

  const deltas = mine.filter(({ type }) => type === 'message.part.delta')
  const said = data?.[1]?.parts.find(({ type }) => type === 'text') as { id: string; text: string }
  assert.equal(said.text, 'It said hello to everybody here.')
  assert.equal(deltas.map(({ properties }) => properties['delta']).join(''), said.text)
  for (const { properties } of deltas) assert.equal(properties['partID'], said.id)

  const record = await client.session.get({ path: { id } })
  const { info } = (await find(seen, id, 'session.created')).properties as { info: object }
  assert.deepEqual(Object.keys(info).sort(), Object.keys(record.data ?? {}).sort())
  const statuses = mine.filter(({ type }) => type === 'session.status').map(({ properties }) => properties['status'])
  assert.deepEqual(statuses, [{ type: 'busy' }, { type: 'idle' }])
})

test('a second prompt of a session is reported without data of the first', async () => {
  const id = await newSession()
  const before = await watch(client)
  await prompt(id, saying({ text: 'One.' }))
  await find(before, id, 'session.idle')
  const seen = await watch(client)
  await prompt(id, saying({ text: 'Two.' }))
  await find(seen, id, 'session.idle')
  const { data = [] } = await client.session.messages({ path: { id } })
  assert.equal(data.length, 4)
  assert.deepEqual(merged(ofSession(seen, id)), data.slice(2))
  assert.deepEqual(merged(ofSession(before, id)), data)
})

test('a client that comes in the middle of a run gets the rest of it under the ids of the list', async () => {
  const id = await newSession()
  const whole = await watch(client)
  await prompt(id, saying(bash('sleep 1; echo done'), { text: 'Ready.' }))
  await find(whole, id, 'message.part.updated')
  await eventually(() =>
    ofSession(whole, id).some(({ properties }) => (properties['part'] as { type?: string })?.type === 'tool'),
  )
  const late = await watch(client)
  await find(late, id, 'session.idle')
  const { data = [] } = await client.session.messages({ path: { id } })
  assert.deepEqual(merged(ofSession(whole, id)), data)
  const [answer] = merged(ofSession(late, id))
  assert.deepEqual(answer?.info, data[1]?.info)
  for (const part of answer?.parts ?? []) assert.ok(data[1]?.parts.some(({ id: known }) => known === part.id))
})

test('GET /global/event has the same events in envelopes', async () => {
  const stop = new AbortController()
  const { stream } = await client.global.event({ signal: stop.signal })
  const seen: { directory: string; payload: Shown }[] = []
  void (async () => {
    for await (const event of stream) seen.push(event as unknown as { directory: string; payload: Shown })
  })()
  await eventually(() => seen.length > 0)
  const id = await newSession()
  await find(await eventually(() => seen.length > 1 && seen.map(({ payload }) => payload)), id, 'session.created')
  stop.abort()
  const { data } = await client.path.get()
  assert.ok(seen.every(({ directory }) => directory === data?.directory))
})

const asksForBash = [
  { type: 'agent_toolset_20260401', configs: [{ name: 'bash', permission_policy: { type: 'always_ask' } }] },
]
const agent = await send(service, 'POST /api/agents', {
  body: { name: 'Careful', owner_id: 'ada', model: 'scripted', tools: asksForBash },
})
const agentId = agent.json<{ id: string }>().id

for (const [response, state] of [
  ['once', 'completed'],
  ['reject', 'error'],
] as const) {
  test(`a tool call that asks is listed and reported; after "${response}" it is ${state}, and the run continues`, async () => {
    const seen = await watch(client)
    const id = await newSession(client, { agent: agentId })
    await prompt(id, saying(bash('echo asked'), { text: 'Well.' }))
    const { properties } = await find(seen, id, 'permission.asked')
    const { data: busy } = await client.session.status()
    assert.deepEqual(busy?.[id], { type: 'busy' })
    const listed = (await send(service, 'GET /permission')).json<{ id: string; sessionID: string }[]>()
    assert.deepEqual(
      listed.filter(({ sessionID }) => sessionID === id),
      [properties],
    )
    assert.equal(
      ofSession(seen, id).some(({ type }) => type === 'session.idle'),
      false,
    )

    const permissionID = String(properties['id'])
    const answered = await client.postSessionIdPermissionsPermissionId({
      path: { id, permissionID },
      body: { response },
    })
    assert.equal(answered.data, true)
    await find(seen, id, 'session.idle')
    const replied = await find(seen, id, 'permission.replied')
    assert.deepEqual([replied.properties['requestID'], replied.properties['reply']], [permissionID, response])
    const { data = [] } = await client.session.messages({ path: { id } })
    assert.deepEqual(merged(ofSession(seen, id)), data)
    const tool = data[1]?.parts.find(({ type }) => type === 'tool') as { state: { status: string }; id: string }
    assert.equal(tool.state.status, state)
    assert.deepEqual(properties['tool'], {
      messageID: data[1]?.info.id,
      callID: (tool as unknown as { callID: string }).callID,
    })
    const again = await send(service, `POST /permission/${permissionID}/reply`, { body: { reply: 'once' } })
    assert.equal(again.status, 409)
  })
}

test('POST /permission/{id}/reply answers as well, with a reason for the model', async () => {
  const seen = await watch(client)
  const id = await newSession(client, { agent: agentId })
  await prompt(id, saying(bash('echo asked'), { text: 'Well.' }))
  const { properties } = await find(seen, id, 'permission.asked')
  const body = { reply: 'reject', message: 'not today' }
  const answer = await send(service, `POST /permission/${properties['id']}/reply`, { body })
  assert.deepEqual([answer.status, answer.text], [200, 'true'])
  await find(seen, id, 'session.idle')
  const { data = [] } = await client.session.messages({ path: { id } })
  const tool = data[1]?.parts.find(({ type }) => type === 'tool') as { state: { error: string } }
  assert.match(tool.state.error, /not today/)
})

test('abort ends the run with MessageAbortedError, then idle', async () => {
  const seen = await watch(client)
  const id = await newSession()
  await prompt(id, saying(bash('sleep 60')))
  await find(seen, id, 'session.status')
  await client.session.abort({ path: { id } })
  await find(seen, id, 'session.idle')
  const types = ofSession(seen, id).map(({ type }) => type)
  assert.ok(types.indexOf('session.error') < types.indexOf('session.idle'))
  const { error } = (await find(seen, id, 'session.error')).properties as { error: { name: string } }
  assert.equal(error.name, 'MessageAbortedError')
  const { data } = await client.session.messages({ path: { id } })
  assert.deepEqual(merged(ofSession(seen, id)), data)
})

test('a run that fails is session.error, then idle', async () => {
  const seen = await watch(client)
  const id = await newSession()
  const body = { model: { providerID: 'switchyard', modelID: 'no-such-model' }, parts: partsOf('hi') }
  await client.session.promptAsync({ path: { id }, body })
  const { error } = (await find(seen, id, 'session.error')).properties as { error: { data: { message: string } } }
  assert.match(error.data.message, /no-such-model/)
  await find(seen, id, 'session.idle')
})

test('a title that is changed, and a deletion, are events with the record', async () => {
  const seen = await watch(client)
  const id = await newSession()
  const renamed = await client.session.update({ path: { id }, body: { title: 'Another title' } })
  assert.equal(renamed.data?.title, 'Another title')
  const { info } = (await find(seen, id, 'session.updated')).properties as { info: { title: string } }
  assert.equal(info.title, 'Another title')
  assert.equal((await client.session.delete({ path: { id } })).data, true)
  const gone = (await find(seen, id, 'session.deleted')).properties as { info: { id: string } }
  assert.equal(gone.info.id, id)
  assert.equal((await client.session.update({ path: { id }, body: { title: 'x' } })).response.status, 404)
})

test('what clients read first is there: models, agents, folders, one project', async () => {
  const { data: providers } = await client.config.providers()
  assert.deepEqual(Object.keys(providers?.providers[0]?.models ?? {}), ['scripted', 'demo'])
  assert.deepEqual(providers?.default, { switchyard: 'scripted' })
  const { data: agents = [] } = await client.app.agents()
  assert.equal(agents[0]?.name, 'builtin')
  assert.ok(agents.some(({ name }) => name === agentId))
  const { data: project } = await client.project.current()
  assert.equal((await client.session.get({ path: { id: await newSession() } })).data?.projectID, project?.id)
  assert.ok((await client.config.get()).data)
  const health = await send(service, 'GET /global/health')
  assert.equal(health.json()['healthy'], true)
})

test('a session may be made with a model and an agent as opencode names them', async () => {
  const body = {
    agent: 'builtin',
    model: { id: 'scripted', providerID: 'switchyard' },
    prompt: saying({ text: 'Hi.' }),
  }
  const made = await send(service, 'POST /session', { body })
  assert.equal(made.status, 200, made.text)
  const { id } = made.json<{ id: string }>()
  const messages = await eventually(async () => {
    const { data = [] } = await client.session.messages({ path: { id } })
    return data[1]?.info.role === 'assistant' && data[1].info.finish ? data : undefined
  })
  const { info } = messages[1] ?? assert.fail('no answer')
  assert.equal(info.role === 'assistant' && info.modelID, 'scripted')
  const one = await client.session.message({ path: { id, messageID: info.id } })
  assert.deepEqual(one.data, messages[1])
})

test('a scoped key sees its own sessions alone, and answers no question of another owner', async () => {
  const bob = await holderOf(service, { owner_id: 'bob' })
  const adas = clientOf(await holderOf(service, { owner_id: 'ada' }))
  const bobs = clientOf(bob)
  const [everything, seenByAda, seenByBob] = await Promise.all([watch(client), watch(adas), watch(bobs)])
  const hers = await newSession(adas, { agent: agentId })
  const his = await newSession(bobs)
  await prompt(hers, saying(bash('echo asked'), { text: 'Well.' }))
  const { properties } = await find(seenByAda, hers, 'permission.asked')
  const id = String(properties['id'])
  assert.equal((await send(bob, `POST /permission/${id}/reply`, { body: { reply: 'once' } })).status, 404)
  for (const session of [hers, his]) {
    const body = { response: 'once' }
    assert.equal((await send(bob, `POST /session/${session}/permissions/${id}`, { body })).status, 404)
  }
  assert.equal((await send(bob, 'GET /permission')).text, '[]')
  await send(service, `POST /permission/${id}/reply`, { body: { reply: 'once' } })
  await find(seenByAda, hers, 'session.idle')
  await prompt(his, saying({ text: 'Mine.' }))
  await find(seenByBob, his, 'session.idle')
  await find(everything, his, 'session.idle')
  const sessionsIn = (seen: readonly Shown[]) => new Set(seen.map(sessionOf).filter(known => known !== undefined))
  assert.deepEqual(sessionsIn(seenByAda), new Set([hers]))
  assert.deepEqual(sessionsIn(seenByBob), new Set([his]))
  assert.deepEqual(sessionsIn(everything), new Set([hers, his]))
})

test('a key that is revoked loses its stream', async () => {
  const holder = await holderOf(service, { label: 'passing' })
  const response = await fetch(`${service.url}/event`, { headers: { authorization: `Bearer ${holder.key}` } })
  assert.equal(response.status, 200)
  await send(service, `DELETE /api/keys/${holder.id}`)
  const text = await response.text()
  assert.match(text, /server\.connected/)
  assert.ok(upstream.requests.length > 0)
})
