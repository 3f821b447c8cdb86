import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../platform/errors.ts'
import type { FreezeRow } from './freeze-store.ts'
import { createFreezes } from './freezes.ts'

const created_at = new Date('2026-01-01T00:00:00Z')
const row = (scope: FreezeRow['scope'], scope_id = '', reason: string | null = null): FreezeRow => ({
  id: `freeze_${scope}`,
  scope,
  scope_id,
  reason,
  is_by_limited_key: false,
  created_by: 'master',
  created_at,
})

/** Freezes over rows that the test changes, and a function that notifies of changes. */
function rig(rows: FreezeRow[]) {
  let listener: (payload: string) => void = () => {}
  const state = { rows, loads: 0, isUnreachable: false }
  const all = async () => {
    state.loads++
    if (state.isUnreachable) throw new Error('unreachable')
    return [...state.rows]
  }
  const on = (_: string, callback: typeof listener) => {
    listener = callback
  }
  const notifications = { on, onReconnect: () => {} }
  const freezes = createFreezes({ store: { all }, notifications, log: { debug: () => {} } })
  return { freezes, state, notify: () => listener('') }
}
const payers = { keys: ['key_child', 'key_parent'], owner: 'ada' }

test('a call does not query the database', async () => {
  const { freezes, state } = rig([])
  await freezes.start()
  assert.deepEqual([freezes.isAny, freezes.rejection(payers), state.loads], [false, undefined, 1])
  await freezes.stop()
})

for (const [name, frozen, message] of [
  [
    'everybody',
    row('all'),
    'all spending has been frozen since 2026-01-01T00:00:00.000Z; an admin can lift the freeze',
  ],
  [
    'the owner',
    row('owner', 'ada', 'late'),
    'spending of owner ada has been frozen since 2026-01-01T00:00:00.000Z: late; an admin can lift the freeze',
  ],
  [
    'the key',
    row('key', 'key_child'),
    'spending of key key_child has been frozen since 2026-01-01T00:00:00.000Z; an admin can lift the freeze',
  ],
  [
    'a key above it',
    row('key', 'key_parent'),
    'spending of key key_parent has been frozen since 2026-01-01T00:00:00.000Z; an admin can lift the freeze',
  ],
] as const) {
  test(`a freeze of ${name} rejects the call with budget_exceeded`, async () => {
    const { freezes } = rig([frozen])
    await freezes.reload()
    const rejection = freezes.rejection(payers)
    assert.ok(rejection instanceof AppError)
    assert.deepEqual(
      [rejection.code, rejection.message, rejection.fields['code']],
      ['budget_exceeded', message, 'spending_frozen'],
    )
    const other = freezes.rejection({ keys: ['key_other'], owner: 'bob' })
    assert.equal(other === undefined, frozen.scope !== 'all')
  })
}

test('a notified change is loaded, and loaded freezes stay in force while the database is unreachable', async () => {
  const { freezes, state, notify } = rig([])
  await freezes.reload()
  state.rows = [row('all')]
  notify()
  await new Promise(setImmediate)
  assert.equal(freezes.isAny, true)
  state.isUnreachable = true
  notify()
  await new Promise(setImmediate)
  assert.equal(freezes.isAny, true)
})
