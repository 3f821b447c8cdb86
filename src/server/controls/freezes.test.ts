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

/** Freezes over rows that the test changes, and how it tells of changes. */
function rig(rows: FreezeRow[]) {
  let listener: (payload: string) => void = () => {}
  const state = { rows, loads: 0, isAway: false }
  const all = async () => {
    state.loads++
    if (state.isAway) throw new Error('away')
    return [...state.rows]
  }
  const on = (_: string, heard: typeof listener) => {
    listener = heard
  }
  const notifications = { on, onReconnect: () => {} }
  const freezes = createFreezes({ store: { all }, notifications, log: { debug: () => {} } })
  return { freezes, state, hear: () => listener('') }
}
const payers = { keys: ['key_child', 'key_parent'], owner: 'ada' }

test('nothing is asked of the database for a call, frozen or not', async () => {
  const { freezes, state } = rig([])
  await freezes.start()
  assert.deepEqual([freezes.isAny, freezes.refusal(payers), state.loads], [false, undefined, 1])
  await freezes.stop()
})

for (const [name, frozen, message] of [
  ['everybody', row('all'), 'all spending is frozen since 2026-01-01T00:00:00.000Z; an admin can lift the freeze'],
  [
    'the owner',
    row('owner', 'ada', 'late'),
    'spending of owner ada is frozen since 2026-01-01T00:00:00.000Z: late; an admin can lift the freeze',
  ],
  [
    'the key',
    row('key', 'key_child'),
    'spending of key key_child is frozen since 2026-01-01T00:00:00.000Z; an admin can lift the freeze',
  ],
  [
    'a key above it',
    row('key', 'key_parent'),
    'spending of key key_parent is frozen since 2026-01-01T00:00:00.000Z; an admin can lift the freeze',
  ],
] as const) {
  test(`a freeze of ${name} refuses the call, as a budget does`, async () => {
    const { freezes } = rig([frozen])
    await freezes.reload()
    const refusal = freezes.refusal(payers)
    assert.ok(refusal instanceof AppError)
    assert.deepEqual(
      [refusal.code, refusal.message, refusal.fields['code']],
      ['budget_exceeded', message, 'spending_frozen'],
    )
    const other = freezes.refusal({ keys: ['key_other'], owner: 'bob' })
    assert.equal(other === undefined, frozen.scope !== 'all')
  })
}

test('a change is heard, and what is in force stays while the database is away', async () => {
  const { freezes, state, hear } = rig([])
  await freezes.reload()
  state.rows = [row('all')]
  hear()
  await new Promise(setImmediate)
  assert.equal(freezes.isAny, true)
  state.isAway = true
  hear()
  await new Promise(setImmediate)
  assert.equal(freezes.isAny, true)
})
