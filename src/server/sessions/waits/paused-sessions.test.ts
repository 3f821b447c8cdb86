import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { startPrompt, storedPrompt, storedSession } from '../../../../test/support/sessions/session-rows.ts'
import { createLog } from '../../platform/log.ts'
import { promptStore } from '../queue/prompt-store.ts'
import { sessionStore } from '../session-store.ts'
import { pauseStore } from './pause-store.ts'
import { createPausedSessions } from './paused-sessions.ts'

const { pool } = await freshDatabase()
const pauses = pauseStore(pool)
const prompts = promptStore(pool)

/** The budget watch of one replica. The test sends its notifications and reads the sessions that it woke. */
function createReplica(t: TestContext, changes: Partial<typeof pauses> = {}) {
  const woken: string[] = []
  let hint: (budget: string) => void = () => assert.fail('nobody listens')
  const paused = createPausedSessions({
    pool,
    pauses: { ...pauses, ...changes },
    sessions: sessionStore(pool),
    wakeUps: { send: (_client, id) => void woken.push(id) },
    notifications: {
      on(_channel, listener) {
        hint = listener
      },
      onReconnect: () => undefined,
    },
    channel: 'budgets',
    log: createLog('silent'),
  })
  paused.start()
  t.after(() => paused.stop())
  return { woken, hint: (budget: string) => hint(budget), stop: paused.stop }
}

/** Returns a session whose own budget is used up. */
async function pausedSession(): Promise<string> {
  const id = await storedSession(pool)
  await startPrompt(pool, await storedPrompt(pool, id, { position: 1 }), 'run_1')
  await pauses.pause(pool, { kind: 'budget', sessionId: id, needsUsd: 0.5, hasProgressed: true })
  const text = `insert into budgets (scope, scope_id, max_usd, spent_usd) values ('session', $1, 1, 1)`
  await pool.query(text, [id])
  return id
}

const raise = (id: string) => pool.query('update budgets set max_usd = 2 where scope_id = $1', [id])

test('a raised budget resumes the session at once, and it is woken once over all replicas', async t => {
  const replicas = [createReplica(t), createReplica(t), createReplica(t)]
  const id = await pausedSession()
  const { hint } = replicas[0] ?? assert.fail()
  hint(`session:${id}`)
  await raise(id)
  for (const replica of replicas) for (let at = 0; at < 5; at++) replica.hint(`session:${id}`)
  const wokenBy = () => replicas.flatMap(({ woken }) => woken)
  await eventually(() => wokenBy().length > 0)
  for (const { stop } of replicas) await stop()
  assert.deepEqual(wokenBy(), [id])
  assert.ok(await prompts.next(id))
})

test('the sessions of other budgets stay paused', async t => {
  const { woken, hint } = createReplica(t)
  const [raised, other] = [await pausedSession(), await pausedSession()]
  await raise(raised)
  hint(`session:${raised}`)
  await eventually(() => woken.includes(raised))
  assert.equal(await prompts.next(other), undefined)
})

test('a budget change during a check triggers another check', async t => {
  const [first, second] = [await pausedSession(), await pausedSession()]
  const firstCheck = Promise.withResolvers<void>()
  const mayContinue = Promise.withResolvers<void>()
  let checks = 0
  const { woken, hint } = createReplica(t, {
    async ready(look) {
      const found = await pauses.ready(look)
      if (checks++ === 0) {
        firstCheck.resolve()
        await mayContinue.promise
      }
      return found
    },
  })
  await raise(first)
  hint(`session:${first}`)
  await firstCheck.promise
  await raise(second)
  hint(`session:${second}`)
  mayContinue.resolve()
  await eventually(() => woken.includes(first) && woken.includes(second))
})

test('checks continue while the database is unreachable', async t => {
  const id = await pausedSession()
  let isUnreachable = true
  const { woken, hint } = createReplica(t, {
    ready: look => (isUnreachable ? Promise.reject(new Error('unreachable')) : pauses.ready(look)),
  })
  await raise(id)
  hint(`session:${id}`)
  await new Promise(resolve => setImmediate(resolve))
  isUnreachable = false
  hint(`session:${id}`)
  await eventually(() => woken.includes(id))
})
