import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { budgetBench, limits, rowOf, type SomePayers } from '../../../test/support/budget-bench.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { AppError, DatabaseUnavailable } from '../platform/errors.ts'
import { createUsage } from '../usage/usage.ts'
import { createBudgets, type HoldRequest } from './budgets.ts'
import type { Payers } from './store.ts'

const lifetimeMs = 300
const bench = await budgetBench({ lifetimeMs })
const said: string[] = []
const log = {
  debug: () => undefined,
  warn: (_: unknown, text?: string) => said.push(String(text)),
  error: (_: unknown, text?: string) => said.push(String(text)),
}
const deps = { store: bench.budgets, log, lifetimeMs, nowMs: () => performance.now() }
const notifications = { on: () => undefined, onReconnect: () => undefined, send: () => undefined }

/** A process of its own over the shared database; the clock stands still unless a test moves it. */
function process(reservations = bench.reservations) {
  const usage = createUsage({ store: bench.usage, log, isPassing: () => true, periodMs: 20 })
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
const request = (payers: SomePayers, more: Partial<HoldRequest> = {}): HoldRequest => {
  const requestId = `call_${++calls}`
  const lost = rowOf(requestId, payers, '0.4', { outcome: 'lost', held_usd: '0.4' })
  return {
    requestId,
    payers: payersOf(payers),
    amountUsd: '0.4',
    tokens: 10,
    isHeld: true,
    model: 'm',
    principal: lost.principal,
    lost: () => lost,
    ...more,
  }
}
const reserved = async (owner: string) => Number((await bench.budget('owner', owner)).reserved_usd)
const codeOf = (work: unknown) =>
  Promise.resolve(work).then(
    () => undefined,
    (error: unknown) => (error instanceof AppError ? error.code : error),
  )

test('a call that is given back leaves nothing behind, and one that is booked is not given back', async () => {
  await bench.set('owner', 'back', { max_usd: '1' })
  const first = await budgets.hold(request({ owner: 'back' }))
  assert.deepEqual(
    [first.amountUsd, first.isBudgeted, first.warning, await reserved('back')],
    ['0.4', true, undefined, 0.4],
  )
  first.release()
  first.release()
  await usage.flush()
  assert.equal(await reserved('back'), 0)

  const asked = request({ owner: 'back' })
  const second = await budgets.hold(asked)
  usage.book(rowOf(asked.requestId, { owner: 'back' }, '0.1', { held_usd: '0.4' }))
  second.settled({ cost_usd: '0' })
  second.release()
  await usage.flush()
  const { spent_usd, reserved_usd, parallel } = await bench.budget('owner', 'back')
  assert.deepEqual([Number(spent_usd), Number(reserved_usd), parallel], [0.1, 0, 0])
})

test('B2: a call that begins right behind the end of another one finds its slot free', async () => {
  await bench.set('owner', 'slot', { max_parallel: 1 })
  for (let number = 0; number < 10; number++) {
    const asked = request({ owner: 'slot' })
    const hold = await budgets.hold(asked)
    // Without a pause in between: the row is not written yet.
    usage.book(rowOf(asked.requestId, { owner: 'slot' }, '0', { held_usd: hold.amountUsd }))
    hold.settled({ cost_usd: '0' })
  }
})

test('B2: a call waits for a moment for what another process is just settling', async () => {
  await bench.set('owner', 'shared', { max_usd: '0.5' })
  const other = process()
  const asked = request({ owner: 'shared' })
  const held = await other.budgets.hold(asked)
  const waiting = budgets.hold(request({ owner: 'shared' }))
  setTimeout(() => {
    other.usage.book(rowOf(asked.requestId, { owner: 'shared' }, '0.1', { held_usd: '0.4' }))
    held.settled({ cost_usd: '0' })
  }, 20)
  const hold = await waiting
  assert.equal(hold.amountUsd, '0.4')
  assert.equal(await codeOf(budgets.hold(request({ owner: 'shared' }))), 'budget_exceeded')
  await other.usage.stop()
})

test('soft limits that are reached are told with their figures, and limit nothing', async () => {
  await bench.at('2026-06-01T00:00:00Z')
  await bench.set('owner', 'soft', { soft_usd: '0.5', max_usd: '10', duration: '1d' })
  await bench.set('agent', 'soft', { soft_usd: '0.5' })
  const payers = { owner: 'soft', agent: 'soft' }
  assert.equal((await budgets.hold(request(payers))).warning, undefined)
  await bench.usage.settle({ rows: [rowOf('much', payers, '0.75')], released: [] })
  const hold = await budgets.hold(request(payers))
  assert.equal(
    hold.warning,
    'agent: spent=0.75, soft_budget=0.5; owner: spent=0.75, soft_budget=0.5, max_budget=10, resets_at=2026-06-02T00:00:00.000Z',
  )
  assert.equal((await budgets.hold(request({ agent: 'soft' }))).isBudgeted, false)
})

const away = new DatabaseUnavailable('the database does not answer', new Error('Connection terminated unexpectedly'))

test('when the database is away a limited call is refused as unavailable, and gives back what it may hold all the same', async () => {
  await bench.set('owner', 'away', { max_usd: '1' })
  const { reserve } = bench.reservations
  const cut = {
    ...bench.reservations,
    reserve: async (asked: Parameters<typeof reserve>[0]) => {
      await reserve(asked)
      throw away
    },
  }
  const broken = process(cut)
  assert.equal(await codeOf(broken.budgets.hold(request({ owner: 'away' }))), 'unavailable')
  await broken.usage.flush()
  assert.equal(await reserved('away'), 0)
  await broken.usage.stop()

  const lost = createBudgets({
    ...deps,
    store: { limited: () => Promise.reject(away) },
    reservations: bench.reservations,
    usage,
    notifications,
  })
  assert.equal(lost.isLimited(payersOf({ key: 'key_1' })), false)
  assert.equal(await codeOf(Promise.resolve(lost.isLimited(payersOf({ owner: 'o' })))), 'unavailable')
})

test('what is held is renewed while its call lives; what a process leaves behind is ended by another one', async () => {
  await bench.set('owner', 'crash', limits)
  await bench.set('owner', 'crash', { max_usd: '10' })
  const crashed = process()
  await crashed.budgets.hold(request({ owner: 'crash' }))
  const alive = process()
  const held = await alive.budgets.hold(request({ owner: 'crash' }))
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
  assert.ok(said.includes('calls were lost with their process; what was held for them counts as spent'))
  const { rows: lost } = await bench.pool.query(
    `select outcome, cost_usd, held_usd, estimated from usage where owner_id = 'crash'`,
  )
  assert.deepEqual(lost, [{ outcome: 'lost', cost_usd: '0.4', held_usd: '0.4', estimated: false }])
  held.release()
  await alive.usage.flush()
  assert.equal(await reserved('crash'), 0)
  await alive.budgets.stop()
  await Promise.all([crashed.usage.stop(), alive.usage.stop()])
})
