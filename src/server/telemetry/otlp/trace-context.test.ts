import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOf, contextOfCall, isInSample, traceIdOf, traceparentOf } from './trace-context.ts'

const header = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

test('a valid traceparent is read and written unchanged', () => {
  const context = contextOf(header)
  assert.ok(context)
  assert.equal(traceparentOf(context), header)
})

test('an invalid traceparent is no context', () => {
  const zero = '0'.repeat(32)
  for (const text of [undefined, '', 'x', `00-${zero}-00f067aa0ba902b7-01`, header.replace('00-', 'ff-'), `${header}x`])
    assert.equal(contextOf(text), undefined, text)
})

test('a call continues the trace of its caller, else that of its run, else starts its own', () => {
  const requestId = 'req_1'
  const call = (runId?: string, traceparent?: string) => contextOfCall({ requestId, runId, traceparent }, 1).traceId
  assert.equal(call('run_1', header), '4bf92f3577b34da6a3ce929d0e0e4736')
  assert.equal(call('run_1'), traceIdOf('run_1'))
  assert.equal(call(), traceIdOf(requestId))
})

test('the sample is a share of the traces, and the same traces each time', () => {
  const ids = Array.from({ length: 2_000 }, (_, index) => traceIdOf(String(index)))
  const share = ids.filter(id => isInSample(id, 0.25)).length / ids.length
  assert.ok(share > 0.2 && share < 0.3, String(share))
  assert.ok(ids.every(id => isInSample(id, 1) && !isInSample(id, 0)))
})
