import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowedMethods, fastifyPath } from './paths.ts'

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
