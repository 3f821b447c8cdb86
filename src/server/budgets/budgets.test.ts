import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { budgetBench, limits, rowOf, type SomePayers } from '../../../test/support/keys/budget-bench.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import { AppError, DatabaseUnavailable } from '../platform/errors.ts'
import { createUsage } from '../usage/usage.ts'
import { createBudgets, type ReservationRequest } from './budgets.ts'
import type { Payers } from './store.ts'

const lifetimeMs = 300
const bench = await budgetBench({ lifetimeMs })
const logged: string[] = []
const log = {
  debug: () => undefined,
  warn: (_: unknown, text?: string) => logged.push(String(text)),
  error: (_: unknown, text?: string) => logged.push(String(text)),
}
const deps = { store: bench.budgets, log, lifetimeMs, nowMs: () => performance.now() }
const notifications = { on: () => undefined, onReconnect: () => undefined, send: () => undefined }

/** A separate process over the shared database, whose clock moves only when a test sets it. */
function process(reservations = bench.reservations) {
  const usage = createUsage({ store: bench.usage, log, isTransient: () => true, periodMs: 20 })
  const budgets = createBudgets({ ...deps, reservations, usage, notifications })
  return { usage, budgets }
}
const { usage, budgets } = process()
after(() => usage.stop())

const payersOf = (payers: SomePayers): Payers => ({
  key: undefined,
  owner: undefined,
  agent: undefined,
  session: undefined,
  ...payers,
})
let calls = 0
const request = (payers: SomePayers, more: Partial<ReservationRequest> = {}): ReservationRequest => {
  const requestId = `call_${++calls}`
  const lost = rowOf(requestId, payers, '0.4', { outcome: 'lost', held_usd: '0.4' })
  return {
    requestId,
    payers: payersOf(payers),
    amountUsd: '0.4',
    tokens: 10,
    isReserved: true,
    model: 'm',
    principal: lost.principal,
    orphanRow: () => lost,
    ...more,
  }
}
const reserved = async (owner: string) => Number((await bench.budget('owner', owner)).reserved_usd)
const codeOf = (work: unknown) =>
  Promise.resolve(work).then(
    () => undefined,
    (error: unknown) => (error instanceof AppError ? error.code : error),
  )

test('a call that runs later needs money now, but no room in rate limits; nothing is reserved for it', async () => {
  await bench.set('owner', 'later', { max_usd: '0.5', rpm_limit: 1 })
  const given = request({ owner: 'later' })
  const first = await budgets.reserve(given)
  assert.equal(await codeOf(budgets.requireMoney(request({ owner: 'later' }))), 'budget_exceeded')
  usage.book(rowOf(given.requestId, { owner: 'later' }, '0.1', { held_usd: '0.4' }))
  first.settled({ cost_usd: '0.1' })
  await usage.flush()
  await budgets.requireMoney(request({ owner: 'later' }))
  assert.equal(await reserved('later'), 0)
  assert.equal(await codeOf(budgets.reserve(request({ owner: 'later' }))), 'rate_limited')
})

test('a released call leaves no reservation, and a booked call is not released', async () => {
  await bench.set('owner', 'back', { max_usd: '1' })
  const first = await budgets.reserve(request({ owner: 'back' }))
  assert.deepEqual(
    [first.amountUsd, first.isBudgeted, first.warning, await reserved('back')],
    ['0.4', true, undefined, 0.4],
  )
  first.release()
  first.release()
  await usage.flush()
  assert.equal(await reserved('back'), 0)

  const given = request({ owner: 'back' })
  const second = await budgets.reserve(given)
  usage.book(rowOf(given.requestId, { owner: 'back' }, '0.1', { held_usd: '0.4' }))
  second.settled({ cost_usd: '0' })
  second.release()
  await usage.flush()
  const { spent_usd, reserved_usd, parallel } = await bench.budget('owner', 'back')
  assert.deepEqual([Number(spent_usd), Number(reserved_usd), parallel], [0.1, 0, 0])
})

test('B2: a call that starts right after another one ended finds its slot free', async () => {
  await bench.set('owner', 'slot', { max_parallel: 1 })
  for (let number = 0; number < 10; number++) {
    const given = request({ owner: 'slot' })
    const reservation = await budgets.reserve(given)
    // Without a pause: the row is not written yet.
    usage.book(rowOf(given.requestId, { owner: 'slot' }, '0', { held_usd: reservation.amountUsd }))
    reservation.settled({ cost_usd: '0' })
  }
})

test('B2: a call waits briefly for reservations that another process is settling', async () => {
  await bench.set('owner', 'shared', { max_usd: '0.5' })
  const other = process()
  const otherCall = request({ owner: 'shared' })
  const otherReservation = await other.budgets.reserve(otherCall)
  const waiting = budgets.reserve(request({ owner: 'shared' }))
  setTimeout(() => {
    other.usage.book(rowOf(otherCall.requestId, { owner: 'shared' }, '0.1', { held_usd: '0.4' }))
    otherReservation.settled({ cost_usd: '0' })
  }, 20)
  const reservation = await waiting
  assert.equal(reservation.amountUsd, '0.4')
  assert.equal(await codeOf(budgets.reserve(request({ owner: 'shared' }))), 'budget_exceeded')
  await other.usage.stop()
})

test('reached soft limits are reported with their figures and do not limit calls', async () => {
  await bench.at('2026-06-01T00:00:00Z')
  await bench.set('owner', 'soft', { soft_usd: '0.5', max_usd: '10', duration: '1d' })
  await bench.set('agent', 'soft', { soft_usd: '0.5' })
  const payers = { owner: 'soft', agent: 'soft' }
  assert.equal((await budgets.reserve(request(payers))).warning, undefined)
  await bench.usage.settle({ rows: [rowOf('much', payers, '0.75')], released: [] })
  const reservation = await budgets.reserve(request(payers))
  assert.equal(
    reservation.warning,
    'agent: spent=0.75, soft_budget=0.5; owner: spent=0.75, soft_budget=0.5, max_budget=10, resets_at=2026-06-02T00:00:00.000Z',
  )
  assert.equal((await budgets.reserve(request({ agent: 'soft' }))).isBudgeted, false)
})

const unreachable = new DatabaseUnavailable('database is unreachable', new Error('Connection terminated unexpectedly'))

test('while the database is unreachable a limited call fails as unavailable, and its possible reservation is released', async () => {
  await bench.set('owner', 'unreachable', { max_usd: '1' })
  const { reserve } = bench.reservations
  const cut = {
    ...bench.reservations,
    reserve: async (given: Parameters<typeof reserve>[0]) => {
      await reserve(given)
      throw unreachable
    },
  }
  const broken = process(cut)
  assert.equal(await codeOf(broken.budgets.reserve(request({ owner: 'unreachable' }))), 'unavailable')
  await broken.usage.flush()
  assert.equal(await reserved('unreachable'), 0)
  await broken.usage.stop()

  const lost = createBudgets({
    ...deps,
    store: { limited: () => Promise.reject(unreachable) },
    reservations: bench.reservations,
    usage,
    notifications,
  })
  assert.equal(lost.isLimited(payersOf({ key: 'key_1' })), false)
  assert.equal(await codeOf(Promise.resolve(lost.isLimited(payersOf({ owner: 'o' })))), 'unavailable')
})

test('reservations of calls in flight are renewed; those of an exited process are ended by another process', async () => {
  await bench.set('owner', 'crash', limits)
  await bench.set('owner', 'crash', { max_usd: '10' })
  const crashed = process()
  await crashed.budgets.reserve(request({ owner: 'crash' }))
  const alive = process()
  const reservation = await alive.budgets.reserve(request({ owner: 'crash' }))
  const { rows } = await bench.pool.query<{ at: Date }>('select at from test_clock')
  let nowMs = rows[0]?.at.getTime() ?? 0
  alive.budgets.start()
  const ended = await eventually(async () => {
    nowMs += 50
    await bench.at(new Date(nowMs).toISOString())
    const { spent_usd } = await bench.budget('owner', 'crash')
    return Number(spent_usd) > 0 && spent_usd
  })
  assert.equal(Number(ended), 0.4)
  assert.equal(await reserved('crash'), 0.4)
  assert.ok(logged.includes('released reservations of an exited process; their amounts count as spent'))
  const { rows: lost } = await bench.pool.query(
    `select outcome, cost_usd, held_usd, estimated from usage where owner_id = 'crash'`,
  )
  assert.deepEqual(lost, [{ outcome: 'lost', cost_usd: '0.4', held_usd: '0.4', estimated: false }])
  reservation.release()
  await alive.usage.flush()
  assert.equal(await reserved('crash'), 0)
  await alive.budgets.stop()
  await Promise.all([crashed.usage.stop(), alive.usage.stop()])
})
