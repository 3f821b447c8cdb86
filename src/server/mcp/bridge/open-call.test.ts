import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Json } from '../../platform/json.ts'
import type { RpcCall } from '../client/legacy.ts'
import type { RegisteredServer } from '../registry/server.ts'
import type { AcquiredSession, PooledSession } from './legacy-pool.ts'
import { notificationForModern } from './messages.ts'
import { startCall } from './open-call.ts'

const elicitation = { id: 1, method: 'elicitation/create', params: { message: 'Name?' } }

const progress = (at: number): Json => ({
  method: 'notifications/progress',
  params: { progressToken: 'sent', progress: at },
})

/** A call whose server asks once and returns what the client answered. */
function asking(method: string) {
  const released: string[] = []
  const session = {
    initialized: {},
    user: undefined,
    request: async ({ onRequest, onMessage }: RpcCall): Promise<Json> => {
      onMessage(progress(1))
      const answer = onRequest?.(elicitation)
      void setTimeout(1).then(() => onMessage(progress(2)))
      return { answer: await answer }
    },
  } as unknown as PooledSession
  const acquired: AcquiredSession = { session, release: state => void released.push(state) }
  const server = { server_name: 's' } as RegisteredServer
  const capabilities = { elicitation: { form: {} } }
  const call = startCall({ server, acquired, capabilities, method, params: {}, progressToken: 'sent' })
  return { call, released }
}

test('a question during a call waits for the client, and the session is free after the result', async () => {
  const { call, released } = asking('tools/call')
  const step = await call.next(() => undefined)
  assert.deepEqual(step, {
    kind: 'questions',
    questions: { 'question-1': { method: 'elicitation/create', params: { message: 'Name?' } } },
  })
  assert.deepEqual(released, [])
  call.answer({ 'question-1': { action: 'decline' }, other: {} })
  assert.deepEqual(await call.next(() => undefined), {
    kind: 'result',
    result: { answer: { result: { action: 'decline' } } },
  })
  assert.deepEqual(released, ['usable'])
})

test('a question during a list is refused, since a list cannot require input', async () => {
  const { call } = asking('tools/list')
  const step = await call.next(() => undefined)
  assert.match(JSON.stringify(step), /"kind":"result".*-32601.*not supported by the client during tools\/list/)
})

test('notifications between two requests of the client reach the next one, once and in their order', async () => {
  const { call } = asking('tools/call')
  const seen: unknown[] = []
  const note = ({ params }: Json) => void seen.push((params as { progress: number }).progress)
  await call.next(note)
  await setTimeout(20)
  call.answer({ 'question-1': { action: 'decline' } })
  await call.next(note)
  assert.deepEqual(seen, [1, 2])
})

test('progress of an earlier request on the same session is not progress of this one', () => {
  const wants = { progressToken: 'own', level: undefined }
  assert.deepEqual(notificationForModern(progress(1), wants, 'sent'), {
    method: 'notifications/progress',
    params: { progressToken: 'own', progress: 1 },
  })
  assert.equal(notificationForModern(progress(1), wants, 'other'), undefined)
})
