import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetBench, limits, rowOf } from '../../../test/support/keys/budget-bench.ts'

const bench = await budgetBench()

test('B1: of 1,000 concurrent calls exactly as many are admitted as the budget has room for', async () => {
  await bench.set('owner', 'crowd', { max_usd: '5' })
  const asked = Array.from({ length: 1_000 }, (_, at) =>
    bench.reserve({ request_id: `crowd_${at}`, payers: { owner: 'crowd' }, amount_usd: '0.1' }),
  )
  const verdicts = await Promise.all(asked)
  assert.equal(verdicts.filter(({ is_admitted }) => is_admitted).length, 50)
  const { reserved_usd, spent_usd, parallel } = await bench.budget('owner', 'crowd')
  assert.deepEqual([reserved_usd, spent_usd, parallel], ['5.0', '0', 50])
  assert.equal(await bench.count('reservations'), 50)
})

test('calls with overlapping sets of budgets never deadlock and never exceed a budget', async () => {
  const budgets = [
    ['owner', 'x1', '2'],
    ['agent', 'x2', '3'],
    ['session', 'x3', '2.5'],
  ] as const
  for (const [scope, id, max_usd] of budgets) await bench.set(scope, id, { max_usd })
  const mixes = [
    { owner: 'x1', agent: 'x2' },
    { agent: 'x2', session: 'x3' },
    { owner: 'x1', session: 'x3' },
    { owner: 'x1', agent: 'x2', session: 'x3' },
  ]
  const work = Array.from({ length: 300 }, async (_, at) => {
    const request_id = `x_${at}`
    const { is_admitted } = await bench.reserve({ request_id, payers: mixes[at % 4] ?? {}, amount_usd: '0.1' })
    if (!is_admitted) return 0
    // Some calls end while others start.
    const payers = mixes[at % 4] ?? {}
    if (at % 3 === 0) await bench.usage.settle({ rows: [rowOf(request_id, payers, '0.05')], released: [] })
    else if (at % 3 === 1) await bench.usage.settle({ rows: [], released: [request_id] })
    return 1
  })
  assert.ok((await Promise.all(work)).includes(0))
  for (const [scope, id, max_usd] of budgets) {
    const { spent_usd, reserved_usd } = await bench.budget(scope, id)
    assert.ok(Number(spent_usd) + Number(reserved_usd) <= Number(max_usd), `${scope}: ${spent_usd} + ${reserved_usd}`)
    assert.equal(Number(reserved_usd).toFixed(6), (await bench.reservedIn(scope, id)).toFixed(6))
  }
})

test('a call is reserved in all of its budgets or in none, and the verdict has the figures of each', async () => {
  await bench.set('owner', 'all', { max_usd: '10' })
  await bench.set('agent', 'none', { max_usd: '0.05' })
  const verdict = await bench.reserve({ payers: { owner: 'all', agent: 'none' }, amount_usd: '0.1' })
  assert.equal(verdict.is_admitted, false)
  assert.deepEqual(
    verdict.budgets.map(({ scope, has_money, max_usd, spent_usd, reserved_usd }) => [
      scope,
      has_money,
      max_usd,
      spent_usd,
      reserved_usd,
    ]),
    [
      ['agent', false, '0.05', '0', '0'],
      ['owner', true, '10', '0', '0'],
    ],
  )
  assert.equal((await bench.budget('owner', 'all')).reserved_usd, '0')
})

test('amounts are exact: 100 reservations of $0.001 use up a budget of $0.1', async () => {
  await bench.set('owner', 'exact', { max_usd: '0.1' })
  for (let at = 0; at < 100; at++)
    assert.ok((await bench.reserve({ payers: { owner: 'exact' }, amount_usd: '0.001' })).is_admitted)
  const { is_admitted } = await bench.reserve({ payers: { owner: 'exact' }, amount_usd: '0.000000000001' })
  assert.equal(is_admitted, false)
})

test('requests and tokens are counted per minute of the database clock', async () => {
  await bench.at('2026-03-01T10:00:30Z')
  await bench.set('owner', 'minute', { rpm_limit: 2, tpm_limit: 100 })
  const ask = (tokens: number) => bench.reserve({ payers: { owner: 'minute' }, tokens })
  assert.ok((await ask(60)).is_admitted)
  const [tooLong] = (await ask(41)).budgets
  assert.deepEqual([tooLong?.has_tokens, tooLong?.has_requests, tooLong?.window_rest_s], [false, true, 30])
  assert.ok((await ask(40)).is_admitted)
  const [tooMany] = (await ask(0)).budgets
  assert.deepEqual([tooMany?.has_requests, tooMany?.requests, tooMany?.tokens], [false, 2, 100])
  await bench.at('2026-03-01T10:01:00Z')
  assert.ok((await ask(100)).is_admitted)
})

test('a settled call corrects the tokens of its own minute only', async () => {
  await bench.at('2026-03-01T11:00:00Z')
  await bench.set('owner', 'corrected', { tpm_limit: 1_000 })
  const payers = { owner: 'corrected' }
  const tokensLeft = async () => 1_000 - ((await bench.reserve({ payers, tokens: 0 })).budgets[0]?.tokens ?? 0)
  await bench.reserve({ request_id: 'early', payers, tokens: 900 })
  await bench.reserve({ request_id: 'late', payers, tokens: 50 })
  await bench.usage.settle({
    rows: [rowOf('early', payers, '0', { input_tokens: 10, output_tokens: 20 })],
    released: [],
  })
  assert.equal(await tokensLeft(), 1_000 - 30 - 50)
  await bench.at('2026-03-01T11:01:00Z')
  await bench.usage.settle({ rows: [rowOf('late', payers, '0', { output_tokens: 5 })], released: [] })
  assert.equal(await tokensLeft(), 1_000)
})

test('a slot is free again once its call ends, and a token count needs no slot', async () => {
  await bench.set('owner', 'slots', { max_parallel: 1 })
  const payers = { owner: 'slots' }
  await bench.reserve({ request_id: 'slot', payers })
  assert.equal((await bench.reserve({ payers })).budgets[0]?.has_slot, false)
  assert.ok((await bench.reserve({ payers, isReserved: false })).is_admitted)
  await bench.usage.settle({ rows: [rowOf('slot', payers, '0')], released: [] })
  assert.ok((await bench.reserve({ payers })).is_admitted)
})

test('a token count counts as a request and makes no reservation', async () => {
  await bench.set('owner', 'counts', { rpm_limit: 2, max_usd: '0' })
  const before = await bench.count('reservations')
  const ask = () => bench.reserve({ payers: { owner: 'counts' }, isReserved: false, amount_usd: '0', tokens: 0 })
  assert.deepEqual(
    [(await ask()).is_admitted, (await ask()).is_admitted, (await ask()).is_admitted],
    [true, true, false],
  )
  assert.equal(await bench.count('reservations'), before)
})

test('a used-up budget admits free calls and rejects calls of unknown cost', async () => {
  await bench.set('owner', 'spent', { max_usd: '1' })
  const payers = { owner: 'spent' }
  await bench.usage.settle({ rows: [rowOf('all', payers, '1.5')], released: [] })
  assert.equal((await bench.reserve({ payers, amount_usd: '0.01' })).is_admitted, false)
  assert.equal((await bench.reserve({ payers, amount_usd: null })).is_admitted, false)
  assert.ok((await bench.reserve({ payers, amount_usd: '0' })).is_admitted)
})

test('a call of unknown cost and size is admitted if only requests are limited', async () => {
  await bench.set('owner', 'rate', { rpm_limit: 5 })
  const verdict = await bench.reserve({ payers: { owner: 'rate' }, amount_usd: null, tokens: null })
  assert.ok(verdict.is_admitted)
  await bench.set('owner', 'rate', { tpm_limit: 5 })
  assert.equal((await bench.reserve({ payers: { owner: 'rate' }, amount_usd: null, tokens: null })).is_admitted, false)
})

test('B6: calls of a revoked, expired or deleted key are never admitted, whatever the budget', async () => {
  const ask = (key: string) => bench.reserve({ payers: { key }, amount_usd: '0.1' })
  await bench.at('2026-03-02T00:00:00Z')
  for (const [id, columns] of [
    ['good', {}],
    ['revoked', { revoked_at: '2026-03-01' }],
    ['expired', { expires_at: '2026-03-02T00:00:00Z' }],
  ] as const) {
    await bench.key(id, columns)
    await bench.set('key', id, { max_usd: '1' })
  }
  assert.ok((await ask('good')).is_admitted)
  for (const id of ['revoked', 'expired', 'gone']) {
    const { is_admitted, is_key_valid } = await ask(id)
    assert.deepEqual([id, is_admitted, is_key_valid], [id, false, false])
  }
  assert.equal((await bench.budget('key', 'revoked')).reserved_usd, '0')
})

test('a call whose budgets have no limits is admitted without a reservation', async () => {
  await bench.set('owner', 'free', limits)
  const before = await bench.count('reservations')
  const { is_admitted, budgets } = await bench.reserve({ payers: { owner: 'free', agent: 'none at all' } })
  assert.deepEqual([is_admitted, budgets], [true, []])
  assert.equal(await bench.count('reservations'), before)
})

test('F29: at the end of a period no cost is booked twice, and reservations carry over into the next period', async () => {
  await bench.at('2026-03-01T09:00:00Z')
  await bench.set('owner', 'edge', { max_usd: '10', duration: '1h' })
  const payers = { owner: 'edge' }
  const ids = Array.from({ length: 200 }, (_, at) => `edge_${at}`)
  for (const request_id of ids.slice(0, 100)) await bench.reserve({ request_id, payers, amount_usd: '0.05' })
  await bench.at('2026-03-01T09:59:59.999Z')
  await bench.usage.settle({ rows: ids.slice(0, 50).map(id => rowOf(id, payers, '0.05')), released: [] })
  assert.equal((await bench.budget('owner', 'edge')).spent_usd, '2.50')
  await bench.at('2026-03-01T10:00:00Z')
  const turned = await bench.budget('owner', 'edge')
  assert.deepEqual(
    [turned.spent_usd, turned.reserved_usd, turned.reset_at?.toISOString()],
    ['0', '2.50', '2026-03-01T11:00:00.000Z'],
  )
  for (const request_id of ids.slice(100)) await bench.reserve({ request_id, payers, amount_usd: '0.05' })
  await bench.usage.settle({ rows: ids.slice(50).map(id => rowOf(id, payers, '0.05')), released: [] })
  assert.deepEqual(
    [
      (await bench.budget('owner', 'edge')).spent_usd,
      await bench.booked('edge', '2026-03-01T09:00Z', '2026-03-01T10:00Z'),
      await bench.booked('edge', '2026-03-01T10:00Z', '2026-03-01T11:00Z'),
    ],
    ['7.50', 2.5, 7.5],
  )
})

test('monthly periods are calendar months from the day on which the budget was created', async () => {
  await bench.at('2026-01-31T12:00:00Z')
  await bench.set('owner', 'monthly', { max_usd: '1', duration: '1mo' })
  const resetAt = async () => (await bench.budget('owner', 'monthly')).reset_at?.toISOString()
  const table = [
    ['2026-01-31T12:00:00Z', '2026-02-28T12:00:00.000Z'],
    ['2026-02-28T12:00:00Z', '2026-03-31T12:00:00.000Z'],
    ['2026-03-31T11:59:59Z', '2026-03-31T12:00:00.000Z'],
    ['2027-06-15T00:00:00Z', '2027-06-30T12:00:00.000Z'],
  ] as const
  for (const [now, end] of table) {
    await bench.at(now)
    assert.equal(await resetAt(), end, now)
  }
})

test('a renewed reservation stays, and one without renewal becomes an orphan', async () => {
  await bench.at('2026-05-01T10:00:00Z')
  await bench.set('owner', 'renewed', { max_usd: '1' })
  await bench.reserve({ request_id: 'kept', payers: { owner: 'renewed' } })
  await bench.reserve({ request_id: 'left', payers: { owner: 'renewed' } })
  await bench.at('2026-05-01T10:10:00Z')
  await bench.reservations.renew(['kept', 'never seen'])
  await bench.at('2026-05-01T10:15:00Z')
  const ids = (await bench.reservations.orphans(1_000)).map(({ request_id }) => request_id)
  assert.deepEqual([ids.includes('left'), ids.includes('kept')], [true, false])
})

test('adding and removing a limit under traffic keeps spend and reservations exact', async () => {
  const payers = { owner: 'coming' }
  await bench.set('owner', 'coming', {})
  const traffic = async (name: string) => {
    for (let at = 0; at < 100; at++) {
      const request_id = `${name}_${at}`
      await bench.reserve({ request_id, payers, amount_usd: '0.02' })
      await bench.usage.settle({ rows: [rowOf(request_id, payers, '0.01')], released: [] })
    }
  }
  const changes = async () => {
    for (let at = 0; at < 150; at++) await bench.set('owner', 'coming', at % 2 === 0 ? { max_usd: '100' } : {})
  }
  await Promise.all([traffic('one'), traffic('two'), traffic('three'), changes()])
  const { spent_usd, reserved_usd, parallel } = await bench.budget('owner', 'coming')
  assert.deepEqual([Number(spent_usd), Number(reserved_usd), parallel], [3, 0, 0])
})
