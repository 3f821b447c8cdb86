import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createContractChecker, type Exchange } from './checker.ts'

const check = createContractChecker()
const agent = { method: 'GET', url: '/api/agents/agent_1?x=1', status: 404 } as const
const headers = { 'request-id': 'req_1', 'content-type': 'application/json; charset=utf-8' }
const error = Buffer.from('{"error":{"type":"gateway_error","message":"agent agent_1 not found"}}')
const problemsOf = (exchange: Exchange) => check(exchange).map(({ problem }) => problem)

test('an answer as documented has no violation', () => {
  assert.deepEqual(problemsOf({ ...agent, headers, body: error }), [])
  assert.deepEqual(problemsOf({ method: 'GET', url: '/no-such-path', status: 404, headers: {}, body: error }), [])
})

for (const [name, exchange] of [
  ['a status', { ...agent, status: 302, headers, body: error }],
  ['a content type', { ...agent, headers: { ...headers, 'content-type': 'text/html' }, body: error }],
  ['a missing header', { ...agent, headers: { 'content-type': 'application/json' }, body: error }],
  ['a body of another shape', { ...agent, headers, body: Buffer.from('{"error":"agent agent_1 not found"}') }],
  ['a body that is not JSON', { ...agent, headers, body: Buffer.from('not found') }],
  ['a body where there is none', { method: 'DELETE', url: '/api/keys/key_1', status: 204, headers, body: error }],
  ['a success on an unknown path', { ...agent, url: '/no-such-path', status: 200, headers, body: error }],
] as const) {
  test(`${name} that the document does not have is reported`, () => {
    assert.equal(problemsOf(exchange).length, 1)
  })
}
