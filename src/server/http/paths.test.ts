import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowedMethods, errorShapeAt, fastifyPath } from './paths.ts'

test('a colon in a path is literal, and ends the parameter before it', () => {
  assert.equal(fastifyPath({ path: '/session/{session_id}/message' }), '/session/:session_id/message')
  assert.equal(fastifyPath({ path: '/a2a/{agent}/message:send' }), '/a2a/:agent/message::send')
  assert.equal(fastifyPath({ path: '/tasks/{task_id}:cancel' }), '/tasks/:task_id(^[^:/]+)::cancel')
})

test('the methods of a path are those of every route that it matches', () => {
  assert.deepEqual(allowedMethods('/a2a/agent_1/message:send'), ['POST'])
  assert.deepEqual(allowedMethods('/a2a/agent_1/tasks/msg_1:subscribe').toSorted(), ['GET', 'POST'])
  assert.deepEqual(allowedMethods('/a2a/agent_1/nothing'), [])
  assert.deepEqual(allowedMethods('/console/sessions/ses_1/files'), ['GET'])
})

test('the error shape of a path is that of the route, also with a parameter that the router rejects', () => {
  const long = 'x'.repeat(600)
  assert.equal(errorShapeAt('POST', `/mcp/${long}`), 'jsonrpc')
  assert.equal(errorShapeAt('GET', `/api/v1/skills/${long}`), 'plain')
  assert.equal(errorShapeAt('PUT', `/mcp/${long}`), undefined)
})
