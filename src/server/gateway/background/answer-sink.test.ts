import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../platform/json.ts'
import { AnswerSink } from './answer-sink.ts'
import { eventsIn, frameOf, framesFrom, withoutFirst } from './events.ts'

const identity = { id: 'resp_own', created_at: 7, previous_response_id: 'resp_before' }
const stream = { 'content-type': 'text/event-stream', 'x-switchyard-deployment': 'gpt-1' }

function sinkOf() {
  const events: Json[] = []
  let isTooLarge = false
  const sink = new AnswerSink({
    identity,
    keys: { ofRun: 'run', own: 'own' },
    onEvent: event => events.push(event) < 100,
    onDrain: resume => resume(),
    onTooLarge: () => {
      isTooLarge = true
    },
  })
  return { sink, events, isTooLarge: () => isTooLarge }
}

const created: Json = { type: 'response.created', response: { id: 'resp_up', status: 'in_progress' } }
const delta: Json = { type: 'response.output_text.delta', item_id: 'msg_run_0', sequence_number: 44, delta: 'Hi' }
const completed: Json = { type: 'response.completed', response: { id: 'resp_up', output: [{ id: 'msg_run_0' }] } }
const asFrame = (event: Json) => Buffer.from(`data: ${JSON.stringify(event)}\n\n`)

test('events get the ids of the response, whatever the chunks; beginnings and what follows the end are dropped', () => {
  const { sink, events } = sinkOf()
  sink.head(200, stream)
  const bytes = Buffer.concat([created, delta, completed, delta].map(asFrame))
  for (let at = 0; at < bytes.length; at += 7) sink.data(bytes.subarray(at, at + 7))
  assert.equal(sink.isComplete, false)
  sink.end()
  assert.deepEqual(events, [{ ...delta, item_id: 'msg_own_0' }])
  assert.equal(sink.isComplete, true)
  assert.deepEqual(sink.answered(), {
    status: 'completed',
    response: { ...identity, background: true, store: true, output: [{ id: 'msg_own_0' }] },
    error: null,
    deployment: 'gpt-1',
    upstreamId: 'resp_up',
  })
})

test('a translated response is stored here, under every key of its runs', () => {
  for (const id of ['resp_run', 'resp_own']) {
    const { sink } = sinkOf()
    sink.head(200, { 'content-type': 'application/json' })
    sink.end(Buffer.from(JSON.stringify({ id, status: 'incomplete', output: [] })))
    const { status, upstreamId, response } = sink.answered()
    assert.deepEqual([status, upstreamId, response?.['id']], ['incomplete', null, 'resp_own'])
  }
})

for (const [name, status, body, code] of [
  [
    'an error body',
    400,
    '{"error":{"message":"no","type":"invalid_request_error","code":null}}',
    'invalid_request_error',
  ],
  ['a body that is not JSON', 502, 'Bad gateway', 'server_error'],
] as const) {
  test(`${name} ends the response as failed`, () => {
    const { sink } = sinkOf()
    sink.head(status, { 'content-type': 'application/json' })
    sink.end(Buffer.from(body))
    const { error, response, ...answered } = sink.answered()
    assert.deepEqual([answered.status, response, error?.code], ['failed', undefined, code])
  })
}

test('a stream with an error event, or without an end, ends the response as failed', () => {
  for (const [frames, code] of [
    [[created, delta, { type: 'error', code: 'overloaded', message: 'busy' }], 'overloaded'],
    [[created, delta], 'server_error'],
  ] as const) {
    const { sink } = sinkOf()
    sink.head(200, stream)
    for (const event of frames) sink.data(asFrame(event))
    sink.end()
    assert.deepEqual([sink.answered().status, sink.answered().error?.code], ['failed', code])
  }
})

test('an answer over 64 MB is stopped', () => {
  const { sink, isTooLarge } = sinkOf()
  sink.head(200, { 'content-type': 'application/json' })
  const piece = Buffer.alloc(32 * 1024 * 1024)
  assert.equal(sink.data(piece), true)
  assert.equal(sink.data(piece), true)
  assert.equal(sink.data(Buffer.alloc(1)), false)
  assert.equal(isTooLarge(), true)
})

test('frames are numbered in order, and can be cut at any event', () => {
  const frames = framesFrom([created, delta, completed], 3)
  assert.equal(frameOf(delta, 4), framesFrom([delta], 4))
  assert.deepEqual(
    eventsIn(frames).map(({ sequence_number }) => sequence_number),
    [3, 4, 5],
  )
  assert.deepEqual(
    [0, 1, 2, 3, 4].map(count => eventsIn(withoutFirst(frames, count)).length),
    [3, 2, 1, 0, 0],
  )
})
