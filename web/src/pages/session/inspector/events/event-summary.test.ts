import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionEvent } from '../../../../../../src/client/index.ts'
import { recordedLog, recordedNames } from '../../../../session-log/logs-for-tests.ts'
import { eventSummary } from './event-summary.ts'
import { typesOf } from './event-types.ts'

const event = (fields: object) => ({ id: 'e1', seq: 1, processed_at: '', ...fields }) as SessionEvent
const summary = (fields: object) => eventSummary(event(fields))

test('An event is summed up by its text, its tool call, or its error', () => {
  assert.equal(summary({ type: 'agent.message', content: [{ type: 'text', text: 'One\n two' }] }), 'One two')
  assert.equal(summary({ type: 'agent.tool_use', name: 'bash', input: { command: 'npm test' } }), 'bash npm test')
  assert.equal(summary({ type: 'session.error', error: { message: 'no credit' } }), 'no credit')
})

test('Fields of any shape in unknown types are no error', () => {
  assert.equal(summary({ type: 'vendor.event', content: ['text', null, 3], error: null }), '')
  assert.equal(summary({ type: 'vendor.event', error: 'text', stop_reason: null }), 'text')
  assert.equal(summary({ type: 'constructor', error: { message: 5 }, stop_reason: [] }), '')
})

test('Every recorded event has a summary of one line', () => {
  for (const each of recordedNames.flatMap(recordedLog)) assert.ok(!eventSummary(each).includes('\n'), each.type)
})

test('Types are counted and ordered by name', () => {
  assert.deepEqual(typesOf([event({ type: 'b' }), event({ type: 'a' }), event({ type: 'b' })]), [
    { name: 'a', count: 1 },
    { name: 'b', count: 2 },
  ])
})
