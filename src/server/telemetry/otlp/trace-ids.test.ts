import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../../platform/ids.ts'
import { continuedTrace, isInSample, spanIdOf, traceIdOf } from './trace-ids.ts'

const given = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', isSampled: true, state: 'a=1' }

test('a trace is that of the headers, else a new one', () => {
  assert.deepEqual(continuedTrace(given, 'run_1', 1), {
    traceId: given.traceId,
    parentId: given.spanId,
    isSampled: true,
    state: 'a=1',
  })
  assert.equal(continuedTrace({ ...given, isSampled: false }, 'run_1', 1).isSampled, false)
  const fresh = continuedTrace(undefined, 'run_1', 1)
  assert.deepEqual([fresh.traceId, fresh.parentId, fresh.isSampled], [traceIdOf('run_1'), undefined, true])
})

test('the sample is a share of the traces, and the same traces each time', () => {
  const ids = Array.from({ length: 2_000 }, () => traceIdOf(newId('run')))
  const share = ids.filter(id => isInSample(id, 0.25)).length / ids.length
  assert.ok(share > 0.2 && share < 0.3, String(share))
  assert.ok(ids.every(id => isInSample(id, 1) && !isInSample(id, 0)))
})

test('ids of traces and spans are those of runs and requests, and hashes of other texts', () => {
  const id = '01a21bd4d4437ef088069ed193408675'
  assert.deepEqual([traceIdOf(`req_${id}`), spanIdOf(`req_${id}`)], [id, '88069ed193408675'])
  for (const other of ['', 'toolu_1', `req_${id}0`]) {
    assert.match(traceIdOf(other), /^[\da-f]{32}$/)
    assert.match(spanIdOf(other), /^[\da-f]{16}$/)
  }
})
