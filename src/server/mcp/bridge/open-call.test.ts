import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../platform/json.ts'
import type { RpcCall } from '../client/legacy.ts'
import type { RegisteredServer } from '../registry/server.ts'
import type { AcquiredSession, PooledSession } from './legacy-pool.ts'
import { startCall } from './open-call.ts'

const elicitation = { id: 1, method: 'elicitation/create', params: { message: 'Name?' } }

/** A call whose server asks once and returns what the client answered. */
function asking(method: string) {
  const released: string[] = []
  const session = {
    initialized: {},
    user: undefined,
    request: async ({ onRequest }: RpcCall): Promise<Json> => ({ answer: await onRequest?.(elicitation) }),
  } as unknown as PooledSession
  const acquired: AcquiredSession = { session, release: state => void released.push(state) }
  const server = { server_name: 's' } as RegisteredServer
  const call = startCall({ server, acquired, capabilities: { elicitation: { form: {} } }, method, params: {} })
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
