import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pool } from 'pg'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { createEngine, type Part, plays } from '../../../../test/support/sessions/session-engine.ts'
import type { SessionEvent } from '../../../contract/events.ts'
import { AppError } from '../../platform/errors.ts'
import { failed, idle, RuntimeFailure } from '../../runtimes/runtime.ts'
import { eventStore } from '../log/event-store.ts'

const { pool } = await freshDatabase()
const done = plays([idle({ type: 'end_turn' })])

const breaksConnection: Part = async () => {
  await pool.query('select pg_terminate_backend(pg_backend_pid())')
  return []
}

const throws =
  (error: Error): Part =>
  async () => {
    throw error
  }

const errorsOf = async (sessionId: string): Promise<SessionEvent[]> =>
  (await eventStore(pool).page(sessionId, 0, 100)).filter(({ type }) => type === 'session.error')

const resumesOf = async (on: Pool, sessionId: string): Promise<number | undefined> => {
  const { rows } = await on.query<{ resumes: number }>('select resumes from prompts where session_id = $1', [sessionId])
  return rows[0]?.resumes
}

test('V1: a run that loses its database connection at the start is retried and logs nothing', async t => {
  const engine = createEngine(t, { pool, parts: [breaksConnection, breaksConnection, done] })
  const id = await engine.create()
  await engine.prompt(id, 'one')
  engine.runner.wake(id)
  await eventually(async () => (await engine.queueOf(id))[0] === 'one done')
  assert.deepEqual(await engine.logOf(id), ['user.message', 'session.status_running', 'idle end_turn'])
  assert.equal(await resumesOf(pool, id), 0)
})

test('V1: when the database stays unreachable the lease is handed over, and this does not count as a crash', async t => {
  const engine = createEngine(t, { pool, parts: [...Array(12).fill(breaksConnection), done] })
  const id = await engine.create()
  await engine.prompt(id, 'one')
  for (let owners = 0; owners < 3; owners++) {
    const runs = engine.runs.length
    engine.runner.wake(id)
    await eventually(() => engine.runs.length > runs && engine.runner.activeCount === 0)
  }
  assert.deepEqual(await engine.queueOf(id), ['one done'])
  assert.equal(engine.runs.length, 13)
  assert.equal(await resumesOf(pool, id), 0)
  assert.deepEqual(await errorsOf(id), [])
})

test('V1: any other exception is retried up to three attempts, then reported as an internal error; the next prompt runs', async t => {
  const bug = throws(new Error('a secret of ours'))
  const engine = createEngine(t, { pool, parts: [bug, bug, bug, done] })
  const id = await engine.create()
  await engine.prompt(id, 'one')
  await engine.prompt(id, 'two')
  engine.runner.wake(id)
  await eventually(async () => (await engine.queueOf(id)).join() === 'one error,two done')
  assert.deepEqual(engine.runs, ['one', 'one', 'one', 'two'])
  const [error, ...others] = await errorsOf(id)
  assert.deepEqual(others, [])
  assert.match(JSON.stringify(error), /internal error/)
  assert.doesNotMatch(JSON.stringify(error), /secret of ours/)
})

test('V1: a failure reported by a runtime ends the prompt at once with its message', async t => {
  const refusal = throws(new RuntimeFailure('model_request_failed_error', 'model is required'))
  const engine = createEngine(t, { pool, parts: [refusal] })
  const id = await engine.create()
  await engine.prompt(id, 'one')
  await engine.settle()
  assert.deepEqual(await engine.queueOf(id), ['one error'])
  const [{ error } = { error: undefined }] = await errorsOf(id)
  assert.deepEqual(error, failed('model_request_failed_error', 'model is required')['error'])
})

test('C5: an error of our own reaches the reader: at once when it is permanent, else after the last retry', async t => {
  const final = throws(new AppError('invalid_request', 'model is required'))
  const engine = createEngine(t, { pool, parts: [final] })
  const id = await engine.create()
  await engine.prompt(id, 'one')
  await engine.settle()
  const [{ error } = { error: undefined }] = await errorsOf(id)
  assert.deepEqual(error, failed('model_request_failed_error', 'model is required')['error'])
  const later = throws(new AppError('unavailable', 'sandbox driver bubblewrap: not here'))
  const other = createEngine(t, { pool, parts: [later, later, later] })
  const second = await other.create()
  await other.prompt(second, 'one')
  other.runner.wake(second)
  await eventually(async () => (await other.queueOf(second))[0] === 'one error')
  assert.match(JSON.stringify(await errorsOf(second)), /sandbox driver bubblewrap: not here/)
})
