import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { CustomToolCall } from '../../src/contract/custom-tools.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { type EventTail, followEvents } from '../support/sessions/event-tail.ts'
import { endsTurn, startScriptedRig, waitsForAction } from '../support/sessions/scripted-rig.ts'
import { saying } from '../support/upstream/scripted-service.ts'

const rig = await startScriptedRig({ params: { capabilities: { vision: true, pdf_input: true } } })
const { upstream, database, ok } = rig

const schema = { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] }
const lookUp = { type: 'custom', name: 'look_up', description: 'Looks up an invoice', input_schema: schema }
const agent = { name: 'Clerk', owner_id: 'team', model: 'scripted' }
const { id: agentId } = await ok<Agent>('POST /api/agents', { ...agent, tools: [lookUp, { type: 'bash' }] })

interface Calling {
  readonly id: string
  readonly tail: EventTail
  /** The open calls, in the order of the log. */
  readonly calls: readonly CustomToolCall[]
}

const openCalls = async (sessionId: string) => {
  const path = `GET /api/custom-tool-calls?session_id=${sessionId}&state=pending`
  return (await ok<{ custom_tool_calls: CustomToolCall[] }>(path)).custom_tool_calls.toReversed()
}

/** A session whose model looks up these invoices in one turn, up to its request for the results. */
async function callingSession(...numbers: readonly number[]): Promise<Calling> {
  const tool_calls = numbers.map(number => ({ name: 'look_up', input: { number } }))
  const prompt = saying({ text: 'I look.', tool_calls }, { text: 'All done.' })
  const { id } = await ok<Session>('POST /session', { agent_id: agentId, prompt })
  const tail = await followEvents(rig.service, id)
  await tail.event(waitsForAction)
  return { id, tail, calls: await openCalls(id) }
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const pdf = Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64')
const image = (data: string) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } })
const byUrl = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
const content = (text: string) => [{ type: 'text', text }]
const answer = (call: CustomToolCall | undefined, text: string, more: object = {}) =>
  send(rig.service, `POST /api/custom-tool-calls/${call?.id}`, { body: { content: content(text), ...more } })
const sendEvent = (sessionId: string, fields: object) =>
  send(rig.service, `POST /v1/sessions/${sessionId}/events`, {
    body: { events: [{ type: 'user.custom_tool_result', ...fields }] },
  })
const statusOf = async (id: string) => (await ok<Session>(`GET /session/${id}`)).status
/** Messages of the last model request with this text. */
const requestWith = (text: string) =>
  JSON.stringify(upstream.requests.findLast(({ body }) => JSON.stringify(body).includes(text))?.body ?? '')

test('a custom tool parks the run; user.custom_tool_result wakes it, and the model reads the answer', async () => {
  const { id, tail, calls } = await callingSession(4711)
  const use = tail.events.find(({ type }) => type === 'agent.custom_tool_use')
  assert.deepEqual([use?.name, use?.input, use?.timeout_seconds], ['look_up', { number: 4711 }, 86_400])
  assert.deepEqual(tail.events.findLast(waitsForAction)?.stop_reason, { type: 'requires_action', event_ids: [use?.id] })
  assert.deepEqual([calls.map(call => call.id), calls[0]?.state, calls[0]?.input], [[use?.id], 'pending', use?.input])
  assert.equal(await statusOf(id), 'idle')
  const parked = async () => {
    const { rows } = await database.query('select lease_owner from sessions where id = $1', [id])
    return rows[0]?.lease_owner === null
  }
  await eventually(parked, { what: 'the session to have no owner while it waits' })

  const sent = await sendEvent(id, { custom_tool_use_id: use?.id, content: content('paid-in-full') })
  assert.equal(sent.status, 200, sent.text)
  const [stored] = sent.json<{ data: SessionEvent[] }>().data
  assert.deepEqual([stored?.type, stored?.custom_tool_use_id], ['user.custom_tool_result', use?.id])
  await tail.event(endsTurn)
  const types = tail.events.map(({ type }) => type)
  assert.deepEqual(types.slice(types.indexOf('agent.custom_tool_use')), [
    'agent.custom_tool_use',
    'span.model_request_end',
    'session.status_idle',
    'user.custom_tool_result',
    'session.status_running',
    'span.model_request_start',
    'agent.message',
    'span.model_request_end',
    'session.usage',
    'session.status_idle',
  ])
  assert.match(requestWith('paid-in-full'), /"tool_result".*paid-in-full/)
  assert.match(requestWith('paid-in-full'), /"name":"look_up","description":"Looks up an invoice"/)

  const again = await sendEvent(id, { custom_tool_use_id: use?.id, content: content('paid-in-full') })
  assert.deepEqual([again.status, again.json<{ data: SessionEvent[] }>().data], [200, [stored]])
  const other = await sendEvent(id, { custom_tool_use_id: use?.id, content: content('unpaid') })
  assert.equal(other.status, 409)
  assert.match(other.text, /already has another answer/)
  tail.close()
})

test('POST /api/custom-tool-calls/{id} answers by record; the run continues when all calls of the turn are answered', async () => {
  const { id, tail, calls } = await callingSession(1, 2)
  const [one, two] = calls
  const answered = await answer(two, 'two-is-open')
  assert.equal(answered.status, 200, answered.text)
  const record = answered.json<CustomToolCall>()
  assert.deepEqual([record.state, record.content, record.is_error], ['answered', content('two-is-open'), false])
  assert.equal(await statusOf(id), 'idle', 'the other one is still open')
  assert.deepEqual(
    (await openCalls(id)).map(call => call.id),
    [one?.id],
  )
  assert.equal((await answer(two, 'two-is-open')).status, 200)
  assert.equal((await answer(two, 'two-is-open', { is_error: true })).status, 409)
  assert.equal((await answer(one, 'one-has-failed', { is_error: true })).status, 200)
  await tail.event(endsTurn)
  assert.match(requestWith('one-has-failed'), /one-has-failed.*"is_error":true.*two-is-open/)
  assert.equal(tail.events.filter(({ type }) => type === 'user.custom_tool_result').length, 2)
  tail.close()
})

test('a call outlives kill -9 of the server: it is made once, and its answer is used once', async () => {
  const { id, tail, calls } = await callingSession(7)
  tail.close()
  await rig.crash()
  assert.equal(await statusOf(id), 'idle')
  assert.equal((await answer(calls[0], 'after-the-restart')).status, 200)
  const resumed = await followEvents(rig.service, id)
  await resumed.event(endsTurn)
  const count = (type: string) => resumed.events.filter(event => event.type === type).length
  assert.deepEqual([count('agent.custom_tool_use'), resumed.events.filter(waitsForAction).length], [1, 1])
  assert.deepEqual([count('user.custom_tool_result'), count('agent.tool_result')], [1, 0])
  assert.equal(requestWith('after-the-restart').split('after-the-restart').length, 2)
  resumed.close()
})

test('a call without an answer in time gives the model an error, and a late answer is 409', async () => {
  const { id: slow } = await ok<Agent>('POST /api/agents', {
    ...agent,
    tools: [lookUp, { ...lookUp, name: 'other', timeout_seconds: 1 }],
    config: { custom_tool_timeout_seconds: 3600 },
  })
  const tool_calls = [{ name: 'other', input: { number: 1 } }]
  const prompt = saying({ text: 'I look.', tool_calls }, { text: 'All done.' })
  const { id } = await ok<Session>('POST /session', { agent_id: slow, prompt })
  const tail = await followEvents(rig.service, id)
  await tail.event(endsTurn)
  const result = tail.events.find(({ type }) => type === 'agent.tool_result')
  assert.match(JSON.stringify(result), /no client answered the call within 1 s/)
  const use = tail.events.find(({ type }) => type === 'agent.custom_tool_use')
  const late = await sendEvent(id, { custom_tool_use_id: use?.id, content: content('late') })
  assert.equal(late.status, 409)
  assert.match(late.text, /is expired; only a pending one can be answered/)
  tail.close()
})

test('interrupt and delete end the waits; no answer counts afterwards', async () => {
  const stopped = await callingSession(8)
  await ok(`POST /session/${stopped.id}/interrupt`)
  await stopped.tail.event(endsTurn)
  const result = stopped.tail.events.find(({ type }) => type === 'agent.tool_result')
  assert.match(JSON.stringify(result), /stopped before the call was answered/)
  const refused = await answer(stopped.calls[0], 'too late')
  assert.equal(refused.status, 409)
  assert.match(refused.text, /is cancelled/)
  stopped.tail.close()

  const deleted = await callingSession(9)
  await ok(`DELETE /session/${deleted.id}`)
  assert.equal((await answer(deleted.calls[0], 'too late')).status, 409)
  assert.equal((await sendEvent(deleted.id, { custom_tool_use_id: deleted.calls[0]?.id })).status, 404)
  const { rows } = await database.query(`select from waits where kind = 'custom_tool'`)
  assert.deepEqual(rows, [])
  deleted.tail.close()
})

test('an answer has a bounded size, and must name a call of the session', async () => {
  const { id, tail, calls } = await callingSession(10)
  const long = Array.from({ length: 2 }, () => ({ type: 'text', text: 'x'.repeat(200_000) }))
  for (const [fields, status, message] of [
    [{ custom_tool_use_id: calls[0]?.id, content: long }, 400, /content must have at most 262144 characters/],
    [{ custom_tool_use_id: calls[0]?.id, content: [{ type: 'video' }] }, 400, /content\[0\]\.type must be/],
    [
      { custom_tool_use_id: calls[0]?.id, content: [image('bm8=')] },
      400,
      /content\[0\]\.source\.data: media_type is image\/png, but/,
    ],
    [
      { custom_tool_use_id: calls[0]?.id, content: [byUrl] },
      400,
      /content\[0\]\.source\.type .*url.* is not supported/,
    ],
    [{ custom_tool_use_id: calls[0]?.id, content: [image('A'.repeat(5_200_000))] }, 400, /exceeds 3750000 bytes/],
    [{ content: content('x') }, 400, /custom_tool_use_id/],
    [{ custom_tool_use_id: 'evt_nothing', content: content('x') }, 404, /custom tool call evt_nothing not found/],
  ] as const) {
    const { status: found, text } = await sendEvent(id, fields)
    assert.equal(found, status, text)
    assert.match(text, message)
  }
  assert.equal((await send(rig.service, 'POST /api/custom-tool-calls/evt_nothing', { body: {} })).status, 404)
  // The runtime's id of the call works as well, and an answer may be empty.
  assert.equal((await sendEvent(id, { custom_tool_use_id: calls[0]?.tool_use_id })).status, 200)
  await tail.event(endsTurn)
  assert.equal((await send(rig.service, 'GET /api/custom-tool-calls?state=maybe')).status, 400)
  const page = await ok<{ custom_tool_calls: CustomToolCall[] }>('GET /api/custom-tool-calls?state=answered&limit=1')
  assert.equal(page.custom_tool_calls[0]?.id, calls[0]?.id)
  tail.close()
})

test('an image and a PDF file in a result reach a model that reads them; records show what they are', async () => {
  const { id, tail, calls } = await callingSession(11)
  const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } }
  const text = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'as-a-text' } }
  const body = { content: [...content('see'), image(png), document, text] }
  const record = await ok<CustomToolCall>(`POST /api/custom-tool-calls/${calls[0]?.id}`, body)
  const size = Buffer.from(png, 'base64').length
  assert.deepEqual(
    record.content?.map(block => ('size' in block ? [block.type, block.media_type, block.size] : block.text)),
    [
      'see',
      ['image', 'image/png', size],
      ['document', 'application/pdf', Buffer.from(pdf, 'base64').length],
      'as-a-text',
    ],
  )
  // The same answer again is accepted.
  assert.deepEqual(await ok<CustomToolCall>(`POST /api/custom-tool-calls/${calls[0]?.id}`, body), record)
  await tail.event(endsTurn)
  const answered = tail.events.find(({ type }) => type === 'user.custom_tool_result')
  assert.deepEqual(answered?.content?.[1], image(png))
  const request = requestWith('as-a-text')
  assert.match(request, new RegExp(`"type":"tool_result".*"media_type":"image/png","data":"${RegExp.escape(png)}"`))
  assert.match(request, /"media_type":"application\/pdf"/)
  assert.equal((await openCalls(id)).length, 0)
  tail.close()
})

test('arguments that do not match the schema never reach a client: the model corrects them', async () => {
  const prompt = saying(
    {
      text: 'I look.',
      tool_calls: [
        { name: 'look_up', input: { number: 'ten' } },
        { name: 'look_up', input: { number: 1 } },
      ],
    },
    { text: 'I correct it.', tool_calls: [{ name: 'look_up', input: { number: 10 } }] },
    { text: 'All done.' },
  )
  const { id } = await ok<Session>('POST /session', { agent_id: agentId, prompt })
  const tail = await followEvents(rig.service, id)
  await tail.event(waitsForAction)
  const [first, ...others] = await openCalls(id)
  assert.deepEqual([first?.input, others], [{ number: 1 }, []])
  // The rejected call stays rejected after a crash.
  await rig.crash()
  assert.equal((await answer(first, 'one')).status, 200)
  const next = await eventually(async () => (await openCalls(id))[0], { what: 'the corrected call' })
  assert.deepEqual(next.input, { number: 10 })
  assert.match(requestWith('I look.'), /do not match the schema of look_up: number must be integer; correct them/)
  assert.equal((await answer(next, 'ten')).status, 200)
  await eventually(async () => (await statusOf(id)) === 'idle' && (await openCalls(id)).length === 0, {
    what: 'the end',
  })
  tail.close()
})

test('arguments that are not JSON never reach a client: the model gets an error at once', async () => {
  const tool_calls = [{ name: 'look_up', input: 'no object' }]
  const prompt = saying({ text: 'I look.', tool_calls }, { text: 'All done.' })
  const { id } = await ok<Session>('POST /session', { agent_id: agentId, prompt })
  const tail = await followEvents(rig.service, id)
  await tail.event(endsTurn)
  assert.ok(tail.events.every(({ type }) => type !== 'agent.custom_tool_use'))
  assert.match(JSON.stringify(tail.events.find(({ type }) => type === 'agent.tool_result')), /not a JSON object/)
  tail.close()
})

test('tools of a session are checked like those of its agent', async () => {
  for (const [overrides, message] of [
    [
      { tools: [{ ...lookUp, name: 'bash' }] },
      /environment\.agent_overrides\.tools\[0\]\.name bash is the name of a built-in/,
    ],
    [
      { tools: [{ ...lookUp, input_schema: { type: 'object', required: 1 } }] },
      /agent_overrides\.tools\[0\]\.input_schema/,
    ],
    [{ config: { agents: ['agent_none'] } }, /agent_overrides\.config\.agents cannot be set for one session/],
    [{ config: { mcp_servers: [{ name: 'x' }] } }, /agent_overrides\.config\.mcp_servers\[0\]/],
  ] as const) {
    const body = { agent_id: agentId, environment: { agent_overrides: overrides } }
    const { status, text } = await send(rig.service, 'POST /session', { body })
    assert.equal(status, 400, text)
    assert.match(text, message)
  }
  const valid = { agent_overrides: { tools: [lookUp], system: 'Be brief.' } }
  await ok<Session>('POST /session', { agent_id: agentId, environment: valid })
})
