import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { invariants } from '../../../test/faults/invariants.ts'
import { budgetBench, limits, rowOf, type SomePayers } from '../../../test/support/keys/budget-bench.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import { AppError } from '../platform/errors.ts'
import { createUsage } from '../usage/usage.ts'
import { createBudgets, type Reservation } from './budgets.ts'
import type { ReserveCall } from './reservation-store.ts'
import type { Payers } from './store.ts'

const lifetimeMs = 600_000
const bench = await budgetBench({ lifetimeMs })
const log = { debug: () => undefined, warn: () => undefined, error: () => undefined }

/** Processes that share a database and receive each other's notifications. */
function processes(count: number) {
  const listeners: [channel: string, listener: (payload: string) => void][] = []
  const notifications = {
    on: (channel: string, listener: (payload: string) => void) => void listeners.push([channel, listener]),
    onReconnect: () => undefined,
    send: (channel: string, payload: string) => {
      for (const [name, listener] of listeners) if (name === channel) setImmediate(listener, payload)
    },
  }
  return {
    notify: notifications.send,
    all: Array.from({ length: count }, () => {
      const requests: ReserveCall[] = []
      const reservations = {
        ...bench.reservations,
        reserve: (call: ReserveCall) => {
          requests.push(call)
          return bench.reservations.reserve(call)
        },
      }
      const usage = createUsage({ store: bench.usage, log, isTransient: () => true, periodMs: 20 })
      const deps = { store: bench.budgets, log, lifetimeMs: 900, nowMs: () => performance.now() }
      const budgets = createBudgets({ ...deps, reservations, usage, notifications })
      after(() => usage.stop())
      return { usage, budgets, requests }
    }),
  }
}
type Process = ReturnType<typeof processes>['all'][number]

const only = (): Process => {
  const [first] = processes(1).all
  if (!first) throw new Error('no process')
  return first
}

const allPayers = (payers: SomePayers): Payers => ({
  key: undefined,
  owner: undefined,
  agent: undefined,
  session: undefined,
  ...payers,
})

let calls = 0

/** Reserves a call that may cost $0.10. */
async function begin({ budgets }: Process, payers: SomePayers, amountUsd = '0.1') {
  const requestId = `sliced_${++calls}`
  const lost = rowOf(requestId, payers, amountUsd, { outcome: 'lost', held_usd: amountUsd })
  const request = { requestId, payers: allPayers(payers), amountUsd, tokens: 10, isReserved: true, model: 'm' }
  return {
    requestId,
    reservation: await budgets.reserve({ ...request, principal: lost.principal, orphanRow: () => lost }),
  }
}

function end(
  { usage }: Process,
  payers: SomePayers,
  begun: { requestId: string; reservation: Reservation },
  cost_usd: string,
): void {
  const { reservation, requestId } = begun
  const row = rowOf(requestId, payers, cost_usd, {
    held_usd: reservation.amountUsd,
    slice_id: reservation.sliceId ?? null,
  })
  usage.book(row)
  reservation.settled(row)
}

/** Makes `count` calls one after the other; returns how many were drawn from a slice. */
async function callInARow(process: Process, payers: SomePayers, count: number, costUsd = '0.01'): Promise<number> {
  let sliced = 0
  for (let call = 0; call < count; call++) {
    const begun = await begin(process, payers)
    if (begun.reservation.sliceId) sliced++
    end(process, payers, begun, costUsd)
  }
  return sliced
}

const quiet = (owner: string) =>
  eventually(
    async () => {
      const found = await bench.budget('owner', owner)
      return Number(found.reserved_usd) === 0 && found.parallel === 0 && found
    },
    { what: 'the settlement of all calls' },
  )

const [reservedText = ''] = invariants.filter(({ claim }) => claim.startsWith('a budget holds')).map(({ sql }) => sql)
const bookedText = `
  select scope_id, spent_usd, usd from budgets join lateral (
    select coalesce(sum(cost_usd), 0) as usd from usage where owner_id = scope_id
  ) booked on spent_usd <> usd where scope = 'owner'`

/** Asserts that budgets match their reservations, are not overspent, and match the spend in the ledger. */
async function assertInvariants(): Promise<void> {
  for (const text of [reservedText, bookedText]) assert.deepEqual((await bench.pool.query(text)).rows, [])
}

test('payers with few calls get separate reservations; many calls share a few slices, which are released when idle', async () => {
  const process = only()
  await bench.set('owner', 'many', { max_usd: '100' })
  const payers = { owner: 'many' }
  assert.equal(await callInARow(process, payers, 5), 0)
  assert.equal(process.requests.length, 5)
  const sliced = await callInARow(process, payers, 200)
  assert.ok(sliced > 150, `${sliced} of 200 calls`)
  const statements = process.requests.length
  assert.ok(statements < 80, `${statements} statements for 205 calls`)
  const { spent_usd } = await quiet('many')
  assert.equal(Number(spent_usd), 2.05)
  await assertInvariants()
})

test('calls under rate limits or concurrency limits are never drawn from slices', async () => {
  const process = only()
  for (const [owner, more] of Object.entries({
    rpm: { rpm_limit: 1_000 },
    tpm: { tpm_limit: 1_000_000 },
    slots: { max_parallel: 100 },
  })) {
    await bench.set('owner', owner, { max_usd: '100', ...more })
    assert.equal(await callInARow(process, { owner }, 30), 0)
  }
})

test('two processes use up a budget exactly and never exceed it', async () => {
  const { all } = processes(2)
  await bench.set('owner', 'cent', { max_usd: '5' })
  const payers = { owner: 'cent' }
  let admitted = 0
  const one = async (process: Process): Promise<void> => {
    try {
      const begun = await begin(process, payers)
      admitted++
      await sleep(Math.random() * 5)
      end(process, payers, begun, '0.1')
    } catch (error) {
      assert.equal(error instanceof AppError && error.code, 'budget_exceeded')
    }
  }
  await Promise.all(Array.from({ length: 400 }, (_, at) => one(all[at % 2] as Process)))
  assert.equal(admitted, 50)
  assert.equal(Number((await quiet('cent')).spent_usd), 5)
  await assertInvariants()
})

test('before a rejection all processes release the idle amounts of their slices', async () => {
  const [first, second] = processes(2).all as [Process, Process]
  await bench.set('owner', 'idle', { max_usd: '10' })
  const payers = { owner: 'idle' }
  await callInARow(first, payers, 10)
  const begun = await Promise.all(Array.from({ length: 30 }, () => begin(first, payers)))
  assert.ok(begun.some(({ reservation }) => reservation.sliceId))
  // Thirty calls reserve $0.10 each, and $0.10 was spent.
  const { reservation } = await begin(second, payers, '6.89')
  assert.equal(reservation.amountUsd, '6.89')
  reservation.release()
  for (const one of begun) end(first, payers, one, '0.02')
  assert.equal(Number((await quiet('idle')).spent_usd), 0.7)
  await assertInvariants()
})

test('a changed limit closes slices: the next call gets a separate reservation under the new limit', async () => {
  const { all, notify } = processes(1)
  const [process] = all as [Process]
  await bench.set('owner', 'changed', { max_usd: '100' })
  const payers = { owner: 'changed' }
  await callInARow(process, payers, 20)
  const begun = await begin(process, payers)
  assert.ok(begun.reservation.sliceId)
  await bench.set('owner', 'changed', { max_usd: '0.25' })
  notify('budgets', 'owner:changed')
  await sleep(5)
  end(process, payers, begun, '0.01')
  assert.equal((await begin(process, payers).catch((error: AppError) => error.code)) as unknown, 'budget_exceeded')
  await quiet('changed')
})

test('callers get a warning once a soft limit is reached', async () => {
  const process = only()
  await bench.set('owner', 'soft', { max_usd: '100', soft_usd: '1' })
  const payers = { owner: 'soft' }
  await callInARow(process, payers, 90)
  assert.equal((await begin(process, payers)).reservation.warning, undefined)
  await callInARow(process, payers, 30)
  await process.usage.flush()
  const { reservation } = await begin(process, payers)
  assert.match(reservation.warning ?? '', /^owner: spent=1\.\d+, soft_budget=1, max_budget=100$/)
  reservation.release()
})

test('the cost of a call above its reservation counts', async () => {
  const process = only()
  await bench.set('owner', 'above', { max_usd: '100' })
  const payers = { owner: 'above' }
  await callInARow(process, payers, 20, '0.3')
  assert.equal(Number((await quiet('above')).spent_usd), 6)
  await assertInvariants()
})

test('the slice of an exited process counts as spent in one row; calls that end later replace it', async () => {
  const crashed = only()
  await bench.set('owner', 'gone', { max_usd: '100' })
  const payers = { owner: 'gone' }
  await callInARow(crashed, payers, 40)
  await quiet('gone')
  const [begun, other] = await Promise.all([begin(crashed, payers), begin(crashed, payers)])
  assert.ok(begun.reservation.sliceId && begun.reservation.sliceId === other.reservation.sliceId)
  await crashed.usage.flush()
  const before = await bench.budget('owner', 'gone')
  await bench.pool.query(`update reservations set expires_at = '2020-01-01' where request_id = $1`, [
    begun.reservation.sliceId,
  ])
  const alive = only()
  alive.budgets.start()
  const lost = await eventually(async () => {
    const found = await bench.pool.query<{ cost_usd: string; request_id: null; outcome: string }>(
      'select cost_usd, request_id, outcome from usage where id = $1',
      [begun.reservation.sliceId],
    )
    return found.rows[0]
  })
  await alive.budgets.stop()
  assert.deepEqual([lost.outcome, lost.request_id], ['lost', null])
  const after = await bench.budget('owner', 'gone')
  assert.deepEqual(
    [Number(after.spent_usd).toFixed(2), Number(after.reserved_usd), after.parallel],
    [(Number(before.spent_usd) + Number(lost.cost_usd)).toFixed(2), 0, 0],
  )
  await assertInvariants()

  end(crashed, payers, begun, '0.04')
  await crashed.usage.flush()
  assert.equal((await bench.budget('owner', 'gone')).spent_usd, after.spent_usd)
  await assertInvariants()
  end(crashed, payers, other, '0.05')
  // The process is back, and releases the unused amount.
  await eventually(async () => Number((await bench.budget('owner', 'gone')).spent_usd) === 0.49)
  await assertInvariants()
})

test('a batch that is sent again releases nothing twice', async () => {
  await bench.set('owner', 'again', { max_usd: '10' })
  const payers = { owner: 'again' }
  await bench.reserve({ request_id: 'slice_again', payers, amount_usd: '5', tokens: 0 })
  const batch = { id: 'batch_again', shares: [{ id: 'slice_again', unusedUsd: '1', isOver: false }] }
  const rows = Array.from({ length: 20 }, (_, at) =>
    rowOf(`again_${at}`, payers, '0.1', { slice_id: 'slice_again', held_usd: '0.2' }),
  )
  for (const sent of [batch, batch, { ...batch, id: 'batch_more', rows }, { ...batch, id: 'batch_more', rows }])
    await bench.usage.settle(sent)
  const { spent_usd, reserved_usd } = await bench.budget('owner', 'again')
  assert.deepEqual([Number(spent_usd), Number(reserved_usd)], [2, 1])
  await bench.usage.settle({ shares: [{ id: 'slice_again', unusedUsd: '0', isOver: true }] })
  assert.equal(Number((await bench.budget('owner', 'again')).reserved_usd), 0)
  await assertInvariants()
})

test('calls drawn from the slices of a key count for the ancestors of the key', async () => {
  const process = only()
  await bench.key('parent')
  await bench.key('child', { ancestors: ['parent'] })
  await bench.set('key', 'parent', { max_usd: '2' })
  await bench.set('key', 'child', limits)
  assert.ok((await callInARow(process, { key: 'child' }, 60)) > 20)
  await eventually(async () => Number((await bench.budget('key', 'parent')).reserved_usd) === 0)
  const spent = await Promise.all(['parent', 'child'].map(id => bench.budget('key', id)))
  assert.deepEqual(
    spent.map(({ spent_usd }) => Number(spent_usd)),
    [0.6, 0.6],
  )
})
