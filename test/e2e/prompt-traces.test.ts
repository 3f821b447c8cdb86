import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Schedule, ScheduleRun } from '../../src/contract/schedules.ts'
import type { Session } from '../../src/contract/sessions.ts'
import type { Delivery } from '../../src/contract/webhooks.ts'
import { attribute, startCollector } from '../support/service/collector.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { sendOk } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
const { url: databaseUrl } = await freshDatabase()
const collector = await startCollector()
const telemetry = { otlp: { endpoint: collector.url, propagate: true } }
const options = { databaseUrl, config: JSON.stringify({ ...JSON.parse(configFor(upstream)), telemetry }) }
const api = await startService({ ...options, env: { SWITCHYARD_ROLE: 'api' } })
let worker = await startService({ ...options, env: { SWITCHYARD_ROLE: 'worker' } })
after(async () => {
  await worker.stop()
  await api.stop()
  await upstream.stop()
})

const ok = <T>(line: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<T> =>
  sendOk<T>(api, line, { headers: { authorization: `Bearer ${api.key}`, ...headers }, body })

/** The trace context of one request. */
function newTrace(tracestate = 'rojo=1') {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01`, tracestate } }
}

const spansOf = (id: string) => collector.spans.filter(span => attribute(span, 'gen_ai.conversation.id') === id)
const runSpan = (id: string, index = 0) =>
  eventually(() => spansOf(id).filter(({ name }) => name === 'invoke_agent')[index], { what: 'the span of the run' })

const agent = await ok<Agent>('POST /api/agents', {
  name: 'Scribe',
  owner_id: 'ada',
  model: 'scripted',
  config: { a2a: { enabled: true } },
})
const token = 'a-token-of-the-sender-0123456789'
await ok('POST /api/vault', { key: `WEBHOOK_${agent.id}_SECRET`, value: token })
const schedule = await ok<Schedule>('POST /api/schedules', {
  name: 'Yearly',
  agent_id: agent.id,
  cron: '0 0 29 2 *',
  prompt: 'hello',
})
const newSession = async () => (await ok<Session>('POST /session', { agent_id: agent.id })).id
const model = { modelID: 'scripted' }
const parts = [{ type: 'text', text: 'hello' }]
const mcpVersion = '2026-07-28'

type Headers = Readonly<Record<string, string>>

/** Calls the agent as an MCP tool; returns the session. */
async function callTool(meta: Headers, headers: Headers): Promise<string> {
  const name = `scribe_${agent.id.replace('agent_', '')}`
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': mcpVersion,
    'io.modelcontextprotocol/clientCapabilities': {},
    ...meta,
  }
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: { prompt: 'hello' }, _meta },
  }
  await ok('POST /mcp/switchyard', message, {
    'mcp-protocol-version': mcpVersion,
    'mcp-method': 'tools/call',
    'mcp-name': name,
    accept: 'application/json, text/event-stream',
    ...headers,
  })
  const [newest] = await ok<Session[]>(`GET /session?agent_id=${agent.id}&limit=1`)
  return newest?.id ?? ''
}

/** Every request that sends a prompt, by what it is; returns the session. */
const entries: Readonly<Record<string, (headers: Headers) => Promise<string>>> = {
  'POST /session': async headers =>
    (await ok<Session>('POST /session', { agent_id: agent.id, prompt: 'hello' }, headers)).id,
  async 'POST /session/{id}/prompt_async'(headers) {
    const id = await newSession()
    await ok(`POST /session/${id}/prompt_async`, { parts, model }, headers)
    return id
  },
  async 'POST /session/{id}/message'(headers) {
    const id = await newSession()
    await ok(`POST /session/${id}/message`, { parts, model }, headers)
    return id
  },
  async 'POST /v1/sessions/{id}/events'(headers) {
    const id = await newSession()
    const events = [{ type: 'user.message', content: parts }]
    await ok(`POST /v1/sessions/${id}/events`, { events }, headers)
    return id
  },
  async 'a webhook'(headers) {
    const path = `POST /api/agents/${agent.id}/webhook`
    return (await ok<Delivery>(path, { action: 'opened' }, { ...headers, authorization: `Bearer ${token}` }))
      .session_id as string
  },
  'POST /api/deliveries': async headers =>
    (await ok<Delivery>('POST /api/deliveries', { agent_id: agent.id, payload: { n: 1 } }, headers))
      .session_id as string,
  'POST /api/schedules/{id}/trigger': async headers =>
    (await ok<ScheduleRun>(`POST /api/schedules/${schedule.id}/trigger`, {}, headers)).session_id as string,
  async 'A2A message:send'(headers) {
    const message = { messageId: randomBytes(8).toString('hex'), role: 'ROLE_USER', parts: [{ text: 'hello' }] }
    const body = { message, configuration: { returnImmediately: true } }
    const sent = await ok<{ task: { contextId: string } }>(`POST /a2a/${agent.id}/message:send`, body, {
      'a2a-version': '1.0',
      ...headers,
    })
    return sent.task.contextId
  },
  'a call of an MCP tool': headers => callTool({}, headers),
  'a call of an MCP tool, with the context in its _meta': headers => callTool(headers, {}),
}

for (const [name, start] of Object.entries(entries))
  test(`the trace of a request that sends a prompt continues in the run, in another process: ${name}`, async () => {
    const { traceId, spanId, headers } = newTrace()
    const id = await start(headers)
    const run = await runSpan(id)
    assert.deepEqual([run.traceId, run.parentSpanId, run.traceState], [traceId, spanId, 'rojo=1'])
    const call = await eventually(() => spansOf(id).find(span => span.name === 'chat scripted'))
    assert.deepEqual(
      spansOf(id).map(span => span.traceId),
      spansOf(id).map(() => traceId),
    )
    assert.notEqual(call.parentSpanId, spanId)
    assert.ok(
      upstream.requests.some(
        request =>
          request.headers['traceparent'] === `00-${traceId}-${call.spanId}-01` &&
          request.headers['tracestate'] === 'rojo=1',
      ),
    )
  })

test('a called agent works in the trace of the call', async () => {
  const planner = await ok<Agent>('POST /api/agents', {
    name: 'Planner',
    owner_id: 'ada',
    model: 'scripted',
    config: { agents: [agent.id] },
  })
  const calling = { text: 'I delegate.', tool_calls: [{ name: 'agent__scribe', input: { prompt: 'hello' } }] }
  const { traceId, headers } = newTrace()
  const prompt = saying(calling, { text: 'Done.' })
  const { id } = await ok<Session>('POST /session', { agent_id: planner.id, prompt }, headers)
  const call = await eventually(() => spansOf(id).find(({ name }) => name === 'execute_tool agent__scribe'))
  const [child] = await ok<Session[]>(`GET /session/${id}/children`)
  const run = await runSpan(child?.id ?? '')
  assert.deepEqual([run.traceId, run.parentSpanId, run.traceState], [traceId, call.spanId, 'rojo=1'])
})

test('an invalid context, and a state without a context, are ignored; an unsampled trace is not exported', async () => {
  const { traceId, headers } = newTrace()
  const start = (given: Headers) => entries['POST /session']?.(given) ?? ''
  for (const given of [{ traceparent: `00-${traceId}-01` }, { tracestate: 'rojo=1' }]) {
    const run = await runSpan(await start(given))
    assert.deepEqual([run.parentSpanId, run.traceState], [undefined, undefined])
    assert.notEqual(run.traceId, traceId)
  }
  const unsampled = await start({ ...headers, traceparent: headers.traceparent.replace(/01$/, '00') })
  await eventually(async () => (await ok<Session>(`GET /session/${unsampled}`)).status === 'idle')
  // Spans of later runs arrive after those of earlier ones.
  await runSpan(await start({}))
  assert.deepEqual(spansOf(unsampled), [])
})

test('the context survives a restart, and a run has links to the requests of the prompts that joined it', async () => {
  await worker.stop()
  const [first, second, third] = [newTrace(), newTrace('congo=2'), newTrace()]
  const id = await newSession()
  const send = (trace: Headers, mode: string, text: string) =>
    ok(`POST /session/${id}/prompt_async`, { parts: [{ type: 'text', text }], model, mode }, trace)
  await send(first.headers, 'enqueue', 'one')
  await send(second.headers, 'steer', 'two')
  await send(third.headers, 'enqueue', 'three')
  await api.stop()
  worker = await startService({ ...options, env: { SWITCHYARD_ROLE: 'worker' } })
  const [run, next] = [await runSpan(id), await runSpan(id, 1)]
  assert.deepEqual([run.traceId, run.parentSpanId], [first.traceId, first.spanId])
  assert.deepEqual(run.links, [{ traceId: second.traceId, spanId: second.spanId, traceState: 'congo=2' }])
  assert.deepEqual([next.traceId, next.parentSpanId, next.links], [third.traceId, third.spanId, []])
})
