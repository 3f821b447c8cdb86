import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Session } from '../../src/contract/sessions.ts'
import { attribute, startCollector } from '../support/service/collector.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, sendOk } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
after(() => upstream.stop())
const collector = await startCollector()
const otherCollector = await startCollector()

const configOf = (endpoint: string, settings: object, content = false) =>
  JSON.stringify({
    model_list: [
      {
        model_name: 'scripted',
        params: { model: 'anthropic/scripted', api_base: upstream.url, api_key: 'sk-upstream' },
      },
    ],
    outbound: { allow: [`127.0.0.1:${upstream.port}`] },
    limits: { max_loop_delay_ms: 10_000 },
    telemetry: { content, otlp: { endpoint, ...settings } },
  })

const service = await startService({
  config: configOf(
    collector.url,
    { headers: { authorization: 'Bearer collector' }, logs: true, propagate: true },
    true,
  ),
})
const plain = await startService({ config: configOf(otherCollector.url, {}) })
const unreachable = await startService({ config: configOf('http://127.0.0.1:9', {}) })

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'
const traceparent = `00-${traceId}-${parentId}-01`

const secret = 'sk-0123456789abcdef0123'

const ask = (target: typeof service, headers: Readonly<Record<string, string>> = {}, model = 'demo') =>
  send(target, 'POST /v1/messages', {
    headers: { authorization: `Bearer ${target.key}`, ...headers },
    body: { model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
  })

test('a call is a span with usage and request id, in the trace of its caller', async () => {
  const answer = await ask(service, { traceparent })
  assert.equal(answer.status, 200, answer.text)
  const requestId = String(answer.headers['request-id'])
  const span = await eventually(async () =>
    collector.spans.find(found => attribute(found, 'switchyard.request_id') === requestId),
  )
  assert.deepEqual([span.traceId, span.parentSpanId, span.name, span.kind], [traceId, parentId, 'chat demo', 3])
  assert.ok(Number(attribute(span, 'gen_ai.usage.output_tokens')) > 0)
  assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano))
  assert.deepEqual([...collector.keys], ['Bearer collector'])
  const record = await eventually(async () =>
    collector.records.find(found => attribute(found, 'request_id') === requestId),
  )
  assert.deepEqual([record.body.stringValue, record.traceId], ['request', traceId])
})

test('the span of a call has its content without secrets, and none by default', async () => {
  const body = {
    model: 'scripted',
    max_tokens: 100,
    stream: true,
    messages: [{ role: 'user', content: `Hi, ${secret}` }],
  }
  for (const target of [service, plain]) {
    const answer = await send(target, 'POST /v1/messages', { body })
    assert.equal(answer.status, 200, answer.text)
    const requestId = String(answer.headers['x-switchyard-request-id'])
    const { spans } = target === service ? collector : otherCollector
    const span = await eventually(() => spans.find(found => attribute(found, 'switchyard.request_id') === requestId))
    const [input, output] = ['gen_ai.input.messages', 'gen_ai.output.messages'].map(name => attribute(span, name))
    if (target === plain) assert.deepEqual([input, output], [undefined, undefined])
    else {
      assert.equal(input, '[{"role":"user","parts":[{"type":"text","content":"Hi, [secret]"}]}]')
      assert.match(
        String(output),
        /^\[\{"role":"assistant","parts":\[\{"type":"text","content":".+"\}\],"finish_reason":"stop"\}\]$/,
      )
    }
  }
})

test('an upstream gets the trace context only where that is configured, with the span of the call as parent', async () => {
  const answer = await ask(service, { traceparent, tracestate: ' rojo=1,' }, 'scripted')
  assert.equal(answer.status, 200, answer.text)
  const requestId = String(answer.headers['x-switchyard-request-id'])
  const span = await eventually(async () =>
    collector.spans.find(found => attribute(found, 'switchyard.request_id') === requestId),
  )
  const { headers } = upstream.requests.at(-1) ?? {}
  assert.equal(headers?.['traceparent'], `00-${traceId}-${span.spanId}-01`)
  assert.deepEqual([headers?.['tracestate'], span.traceState], ['rojo=1', 'rojo=1'])
  assert.equal((await ask(plain, { traceparent }, 'scripted')).status, 200)
  assert.equal(upstream.requests.at(-1)?.headers['traceparent'], undefined)
})

test('an unsampled trace of a caller is not exported, and an invalid header starts a new one', async () => {
  const before = collector.spans.length
  await ask(service, { traceparent: `00-${'a'.repeat(32)}-${parentId}-00` })
  await ask(service, { traceparent: 'nonsense' })
  const fresh = await eventually(async () => collector.spans.slice(before).find(span => span.name === 'chat demo'))
  assert.equal(fresh.parentSpanId, undefined)
  assert.ok(!collector.spans.some(span => span.traceId === 'a'.repeat(32)))
})

test('a session is one trace of run, steps, model calls and tool calls', async () => {
  const body = { prompt: 'List the folder', model: 'demo' }
  const { id } = await sendOk<Session>(service, 'POST /session', { body })
  const ofSession = () => collector.spans.filter(span => attribute(span, 'gen_ai.conversation.id') === id)
  const run = await eventually(async () => ofSession().find(span => span.name === 'invoke_agent'))
  const spans = ofSession()
  assert.deepEqual([...new Set(spans.map(span => span.traceId))], [run.traceId])
  assert.equal(run.parentSpanId, undefined)
  const steps = spans.filter(span => span.name === 'step')
  assert.ok(steps.length >= 2)
  for (const step of steps) assert.equal(step.parentSpanId, run.spanId)
  const stepIds = steps.map(step => step.spanId)
  const calls = await eventually(async () => {
    const found = ofSession().filter(span => span.name === 'chat demo')
    return found.length >= 2 && found
  })
  const tools = spans.filter(span => span.name.startsWith('execute_tool '))
  assert.ok(tools.length > 0)
  for (const span of [...calls, ...tools]) assert.ok(stepIds.includes(span.parentSpanId ?? ''), span.name)
  assert.match(String(attribute(run, 'gen_ai.input.messages')), /List the folder/)
  assert.notEqual(attribute(tools[0], 'gen_ai.tool.call.arguments'), undefined)
  const [first, second] = calls.toSorted((one, other) => one.startTimeUnixNano.localeCompare(other.startTimeUnixNano))
  assert.match(String(attribute(first, 'gen_ai.input.messages')), /List the folder/)
  assert.match(String(attribute(first, 'gen_ai.output.messages')), /"type":"tool_call",.*"finish_reason":"tool_call"/)
  assert.match(String(attribute(second, 'gen_ai.input.messages')), /"type":"tool_call_response"/)
})

test('content is not exported by default', async () => {
  const { id } = await sendOk<Session>(plain, 'POST /session', { body: { prompt: 'List the folder', model: 'demo' } })
  await eventually(async () =>
    otherCollector.spans.find(span => span.name === 'invoke_agent' && attribute(span, 'gen_ai.conversation.id') === id),
  )
  const text = JSON.stringify(otherCollector.spans)
  assert.doesNotMatch(text, /List the folder|gen_ai\.(input|output)\.messages|tool\.call\.(arguments|result)/)
  assert.equal(otherCollector.records.length, 0)
})

test('spans that the collector rejects are counted; those that it cannot take now are sent again', async () => {
  const dropped = async (reason: string) =>
    (await send(plain, 'GET /metrics')).text.match(
      new RegExp(`switchyard_telemetry_dropped_total\\{signal="traces",reason="${reason}"\\} (\\d+)`),
    )?.[1]
  otherCollector.answer(400)
  await ask(plain)
  await eventually(async () => Number(await dropped('collector')) > 0)
  otherCollector.answer(503)
  const before = otherCollector.spans.length
  await ask(plain)
  await eventually(async () => plain.logs().includes('cannot export telemetry'))
  otherCollector.answer(200)
  await eventually(async () => otherCollector.spans.length > before)
})

test('an unreachable collector does not affect calls', async () => {
  for (let call = 0; call < 20; call++) assert.equal((await ask(unreachable)).status, 200)
  await eventually(async () => unreachable.logs().includes('cannot export telemetry'))
  assert.equal((await ask(unreachable)).status, 200)
})
