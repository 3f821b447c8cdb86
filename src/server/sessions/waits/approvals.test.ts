import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { createEngine, type Part } from '../../../../test/support/sessions/session-engine.ts'
import { masterCaller } from '../../http/caller.ts'
import { idle, requiresAction } from '../../runtimes/runtime.ts'

const { pool } = await freshDatabase()
const done = idle({ type: 'end_turn' })

/** A run that asks about the call of event `id`, which expires after `ms`, and then reports the decision. */
const asks = (id: string, said: unknown[], ms?: number): Part =>
  async function* (sessionId, { decision }) {
    yield [{ id, type: 'agent.tool_use', tool_use_id: `call_${id}`, name: 'bash', input: { command: 'ls' } }]
    yield [requiresAction([id])]
    if (ms !== undefined) {
      const text = `update approvals set expires_at = clock_timestamp() + $2::float8 * interval '1 millisecond' where session_id = $1`
      await pool.query(text, [sessionId, ms])
    }
    const [one, other] = await Promise.all([decision(id), decision(id)])
    said.push(one, other)
    yield [{ type: 'session.status_running' }, done]
  }

test('a runtime that runs its tools itself takes no changed arguments, and the approval stays open', async t => {
  const said: unknown[] = []
  const engine = createEngine(t, { pool, parts: [asks('evt_closed', said)] })
  const id = await engine.create()
  await engine.prompt(id, 'Go')
  engine.runner.wake(id)
  await eventually(async () => (await engine.logOf(id)).includes('idle requires_action'))
  const verdict = { type: 'user.tool_confirmation', tool_use_id: 'evt_closed', result: 'allow' } as const
  await assert.rejects(
    engine.rules.send(id, [{ ...verdict, input: { command: 'pwd' } }], masterCaller),
    /input is not supported by runtime builtin, which runs its tools itself; deny the call with a message instead/,
  )
  await engine.rules.send(id, [verdict], masterCaller)
  await eventually(async () => (await engine.queueOf(id))[0] === 'Go done')
  assert.deepEqual(said, Array(2).fill({ result: 'allow', message: undefined }))
})

test('an approval that expires is logged once as expired, and the runtime gets the reason, while it waits in memory', async t => {
  const said: unknown[] = []
  const engine = createEngine(t, { pool, parts: [asks('evt_late', said, 200)] })
  const id = await engine.create()
  await engine.prompt(id, 'Go')
  engine.runner.wake(id)
  await eventually(async () => (await engine.queueOf(id))[0] === 'Go done')
  assert.deepEqual(
    said.map(each => /expired without an answer; this is not a denial/.test(JSON.stringify(each))),
    [true, true],
  )
  const log = await engine.logOf(id)
  assert.deepEqual(log.slice(log.indexOf('idle requires_action')), [
    'idle requires_action',
    'session.approval_expired',
    'session.status_running',
    'idle end_turn',
  ])
  const { rows } = await pool.query(`select state from approvals where id = 'evt_late'`)
  assert.deepEqual(rows, [{ state: 'expired' }])
  await assert.rejects(
    engine.rules.send(id, [{ type: 'user.tool_confirmation', tool_use_id: 'evt_late', result: 'allow' }], masterCaller),
    /approval evt_late is expired; only a pending one can be decided/,
  )
})
