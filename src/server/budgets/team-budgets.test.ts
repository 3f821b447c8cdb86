import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetBench, rowOf } from '../../../test/support/keys/budget-bench.ts'

const bench = await budgetBench()

async function addTeam(id: string, maxUsd: string): Promise<void> {
  await bench.pool.query(`insert into teams (id, name, owner_id, created_by) values ($1, $1, $1, 'master')`, [id])
  await bench.set('team', id, { max_usd: maxUsd })
}

/** Adds a user, and a key of it with the id of the user. */
async function addUser(id: string, ...teams: readonly string[]): Promise<void> {
  const text = `
    insert into users (id, kind, name, owner_id, role, created_by) values ($1, 'person', $1, $1, 'member', 'master')`
  await bench.pool.query(text, [id])
  for (const team of teams) await join(id, team)
  await bench.key(id)
  await bench.pool.query('update api_keys set user_id = $1 where id = $1', [id])
}
const join = (user: string, team: string) =>
  bench.pool.query(`insert into team_members (team_id, user_id, source) values ($1, $2, 'manual')`, [team, user])
const leave = (user: string, team: string) =>
  bench.pool.query('delete from team_members where team_id = $1 and user_id = $2', [team, user])

const shown = async (id: string) => {
  const { spent_usd, reserved_usd, parallel } = await bench.budget('team', id)
  return { spent: Number(spent_usd), reserved: Number(reserved_usd), parallel }
}

test('members together reserve and spend exactly the budget of their team', async () => {
  await addTeam('shared', '1')
  for (const user of ['ada', 'bob', 'eve']) await addUser(user, 'shared')
  const keys = ['ada', 'bob', 'eve']
  const verdicts = await Promise.all(
    Array.from({ length: 60 }, (_, at) =>
      bench.reserve({ request_id: `s_${at}`, payers: { key: keys[at % 3] }, amount_usd: '0.1' }),
    ),
  )
  const admitted = verdicts.flatMap(({ is_admitted }, at) => (is_admitted ? [at] : []))
  assert.equal(admitted.length, 10)
  assert.deepEqual(await shown('shared'), { spent: 0, reserved: 1, parallel: 10 })
  await bench.usage.settle({ rows: admitted.map(at => rowOf(`s_${at}`, { key: keys[at % 3] }, '0.1')) })
  assert.deepEqual(await shown('shared'), { spent: 1, reserved: 0, parallel: 0 })
})

test('a user without a chosen team pays as the team that it joined first', async () => {
  await addTeam('first', '5')
  await addTeam('second', '5')
  await addUser('two-teams', 'first', 'second')
  const { budgets } = await bench.reserve({ payers: { key: 'two-teams' } })
  assert.deepEqual(
    budgets.map(({ scope, scope_id }) => [scope, scope_id]),
    [['team', 'first']],
  )
})

test('a call counts for the team that it was reserved for, even if the user has left it since', async () => {
  await addTeam('before', '5')
  await addTeam('after', '5')
  await addUser('mover', 'before')
  await bench.reserve({ request_id: 'moving', payers: { key: 'mover' }, amount_usd: '2' })
  await leave('mover', 'before')
  await join('mover', 'after')
  await bench.usage.settle({ rows: [rowOf('moving', { key: 'mover' }, '1.5')] })
  assert.deepEqual(await shown('before'), { spent: 1.5, reserved: 0, parallel: 0 })
  assert.deepEqual(await shown('after'), { spent: 0, reserved: 0, parallel: 0 })
})

test('a key of a disabled user, or of a team that its user has left, reserves nothing', async () => {
  await addTeam('left', '5')
  await addUser('leaver', 'left')
  await bench.pool.query(`update api_keys set team_id = 'left' where id = 'leaver'`)
  assert.equal((await bench.reserve({ payers: { key: 'leaver' } })).is_admitted, true)
  await leave('leaver', 'left')
  assert.equal((await bench.reserve({ payers: { key: 'leaver' } })).is_admitted, false)
  await join('leaver', 'left')
  await bench.pool.query(`update users set disabled_at = clock_timestamp() where id = 'leaver'`)
  assert.equal((await bench.reserve({ payers: { key: 'leaver' } })).is_admitted, false)
})
