import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { budgetBench, limits, rowOf, type SomePayers } from '../../../test/support/keys/budget-bench.ts'
import type { UsageRow } from '../usage/rows.ts'

/** In cents and minutes, so that the model uses whole numbers. Every step takes at least one second. */
interface Budget {
  max: number | null
  rpm: number | null
  tpm: number | null
  slots: number | null
  isHourly: boolean
  spent: number
  reserved: number
  parallel: number
  minute: number
  requests: number
  tokens: number
  startedAt: number
  /** Number of periods with a write. */
  period: number
  resetAt: number
  readonly identity: object
}

interface Reservation {
  readonly payers: SomePayers
  readonly cents: number
  readonly tokens: number
  readonly minute: number
  readonly heldIn: readonly { readonly name: string; readonly identity: object }[]
  expiresAt: number
}

interface Loss {
  readonly payers: SomePayers
  readonly cents: number
  readonly countedIn: readonly { readonly name: string; readonly identity: object; readonly period: number }[]
}

/** Maximum use of a call. */
interface CallBounds {
  readonly cents: number
  readonly tokens: number
  readonly isPriceless: boolean
  readonly isBoundless: boolean
}

const lifetimeS = 900
const hourS = 3_600
const start = Date.UTC(2026, 0, 1)

/** Model of the specification, without a database. */
class Model {
  now = 0
  readonly budgets = new Map<string, Budget>()
  readonly live = new Map<string, Reservation>()
  readonly losses = new Map<string, Loss>()
  /** Booked cost in cents, by request. */
  readonly ledger = new Map<string, number>()

  budgetsOf(payers: SomePayers): [string, Budget][] {
    return Object.entries(payers).flatMap(([scope, id]): [string, Budget][] => {
      const name = `${scope}:${id}`
      const budget = this.budgets.get(name)
      return budget ? [[name, budget]] : []
    })
  }

  set(name: string, given: Pick<Budget, 'max' | 'rpm' | 'tpm' | 'slots' | 'isHourly'>): void {
    const known = this.budgets.get(name)
    const fresh = { spent: 0, reserved: 0, parallel: 0, minute: 0, requests: 0, tokens: 0, period: 0 }
    const period = { startedAt: this.now, resetAt: this.now + hourS }
    if (!known) this.budgets.set(name, { ...fresh, ...period, ...given, identity: {} })
    else if (known.isHourly !== given.isHourly) {
      if (known.isHourly && known.resetAt <= this.now) Object.assign(known, { spent: 0, period: known.period + 1 })
      Object.assign(known, given, period)
    } else Object.assign(known, given)
  }

  turn(budget: Budget): void {
    const minute = Math.floor(this.now / 60)
    if (budget.minute !== minute) Object.assign(budget, { minute, requests: 0, tokens: 0 })
    if (!budget.isHourly || budget.resetAt > this.now) return
    const resetAt = budget.startedAt + (Math.floor((this.now - budget.startedAt) / hourS) + 1) * hourS
    Object.assign(budget, { spent: 0, period: budget.period + 1, resetAt })
  }

  fits(budget: Budget, { cents, tokens, isPriceless, isBoundless }: CallBounds): boolean {
    const isCurrent = budget.minute === Math.floor(this.now / 60)
    const spent = budget.isHourly && budget.resetAt <= this.now ? 0 : budget.spent
    return (
      (budget.rpm === null || (isCurrent ? budget.requests : 0) < budget.rpm) &&
      (budget.tpm === null || (!isBoundless && (isCurrent ? budget.tokens : 0) + tokens <= budget.tpm)) &&
      (budget.slots === null || budget.parallel < budget.slots) &&
      (budget.max === null || (!isPriceless && (cents === 0 || spent + budget.reserved + cents <= budget.max)))
    )
  }

  reserve(id: string, payers: SomePayers, wanted: CallBounds): boolean {
    const { cents, tokens } = wanted
    const limited = this.budgetsOf(payers).filter(([, { max, rpm, tpm, slots }]) =>
      [max, rpm, tpm, slots].some(given => given !== null),
    )
    if (!limited.every(([, budget]) => this.fits(budget, wanted))) return false
    for (const [, budget] of limited) {
      this.turn(budget)
      budget.reserved += cents
      budget.parallel++
      budget.requests++
      budget.tokens += tokens
    }
    const heldIn = limited.map(([name, { identity }]) => ({ name, identity }))
    const minute = Math.floor(this.now / 60)
    if (limited.length > 0)
      this.live.set(id, { payers, cents, tokens, minute, heldIn, expiresAt: this.now + lifetimeS })
    return true
  }

  /** Ends a reservation. `used` corrects the tokens of its minute; undefined keeps them. */
  free(id: string, { used, isUndone = false }: { used?: number; isUndone?: boolean }): void {
    const reservation = this.live.get(id)
    if (!reservation) return
    this.live.delete(id)
    for (const { name, identity } of reservation.heldIn) {
      const budget = this.budgets.get(name)
      if (budget?.identity !== identity) continue
      this.turn(budget)
      budget.reserved -= reservation.cents
      budget.parallel--
      if (budget.minute !== reservation.minute) continue
      if (used !== undefined) budget.tokens += used - reservation.tokens
      if (isUndone) budget.requests--
    }
  }

  renew(id: string): void {
    const reservation = this.live.get(id)
    if (reservation) reservation.expiresAt = this.now + lifetimeS
  }

  settle(id: string, { payers, cents, used }: { payers: SomePayers; cents: number; used: number }): void {
    const loss = this.losses.get(id)
    this.free(id, { used })
    for (const [name, budget] of this.budgetsOf(payers)) {
      this.turn(budget)
      if (this.ledger.has(id) && !loss) continue
      const counted = loss?.countedIn.find(entry => entry.name === name && entry.identity === budget.identity)
      if (!loss) budget.spent += cents
      else if (counted?.period === budget.period) budget.spent += cents - loss.cents
    }
    if (loss || !this.ledger.has(id)) this.ledger.set(id, cents)
    this.losses.delete(id)
  }

  sweep(): string[] {
    const orphans = [...this.live].filter(([, { expiresAt }]) => expiresAt <= this.now)
    for (const [id, { payers, cents }] of orphans) {
      this.free(id, {})
      const counted = this.budgetsOf(payers)
      for (const [, budget] of counted) {
        this.turn(budget)
        budget.spent += cents
      }
      const countedIn = counted.map(([name, { identity, period }]) => ({ name, identity, period }))
      this.losses.set(id, { payers, cents, countedIn })
      this.ledger.set(id, cents)
    }
    return orphans.map(([id]) => id)
  }
}

const scopes = ['owner', 'agent', 'session'] as const
const scope = fc.constantFrom(...scopes)
const maybe = (max: number) => fc.option(fc.nat({ max }), { nil: null, freq: 2 })
const given = {
  max: maybe(500),
  rpm: fc.option(fc.nat({ max: 20 }), { nil: null, freq: 1 }),
  tpm: fc.option(fc.nat({ max: 3_000 }), { nil: null, freq: 1 }),
  slots: fc.option(fc.nat({ max: 8 }), { nil: null, freq: 1 }),
  isHourly: fc.boolean(),
}
const chosen = fc.nat({ max: 1_000 })
const seldom = fc.nat({ max: 15 }).map(number => number === 15)
const call = fc.record({
  who: fc.subarray([...scopes], { minLength: 1 }),
  cents: fc.nat({ max: 60 }),
  tokens: fc.nat({ max: 500 }),
  isPriceless: seldom,
  isBoundless: seldom,
})
/** Concurrent calls: the first is sent alone, the others together. */
const reserve = fc.record({
  do: fc.constant('reserve' as const),
  calls: fc.array(call, { minLength: 1, maxLength: 8 }),
})
const settle = fc.record({
  do: fc.constant('settle' as const),
  chosen,
  cents: fc.nat({ max: 80 }),
  used: fc.nat({ max: 600 }),
})
const seconds = fc.constantFrom(1, 10, 50, 400, lifetimeS, lifetimeS, 1_700, hourS)
const step = fc.oneof(
  fc.record({ do: fc.constant('set' as const), scope, ...given }),
  { weight: 6, arbitrary: reserve },
  { weight: 4, arbitrary: settle },
  fc.record({ do: fc.constant('release' as const), chosen }),
  fc.record({ do: fc.constant('unlimited' as const), who: fc.subarray([...scopes]), cents: fc.nat({ max: 80 }) }),
  fc.record({ do: fc.constant('remove' as const), scope }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), seconds }) },
  fc.record({ do: fc.constant('renew' as const), chosen }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('sweep' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const bench = await budgetBench({ lifetimeMs: lifetimeS * 1_000 })
const usd = (cents: number | null): string | null => (cents === null ? null : `${(cents / 100).toFixed(2)}`)

/** Runs each step against the database and the model, and compares them after it. */
class Comparison {
  readonly run = randomUUID()
  readonly model = new Model()
  readonly #begun: { readonly id: string; readonly payers: SomePayers }[] = []

  async take(given: Step): Promise<void> {
    this.model.now++
    if (given.do === 'wait') this.model.now += given.seconds
    await bench.at(new Date(start + this.model.now * 1_000).toISOString())
    await this.#do(given)
    await assertSame(this.model, this.run, given)
  }

  #do(given: Step): Promise<void> | undefined {
    switch (given.do) {
      case 'set':
        return this.#set(given)
      case 'reserve':
        return this.#reserve(given)
      case 'settle':
        return this.#settle(given)
      case 'release':
        return this.#release(given.chosen)
      case 'unlimited':
        return this.#book(randomUUID(), this.#payers(given.who), { cents: given.cents, used: 0 })
      case 'remove':
        this.model.budgets.delete(`${given.scope}:${this.run}`)
        return bench.budgets.remove(bench.pool, { scope: given.scope, scope_id: this.run })
      case 'renew':
        return this.#renew(given.chosen)
      case 'sweep':
        return this.#sweep()
      case 'wait':
        return undefined
    }
  }

  #payers(who: readonly string[]): SomePayers {
    return Object.fromEntries(who.map(name => [name, this.run]))
  }

  #pick(number: number) {
    return this.#begun[number % Math.max(1, this.#begun.length)]
  }

  async #set({ scope: of, max, rpm, tpm, slots, isHourly }: Extract<Step, { do: 'set' }>): Promise<void> {
    const duration = isHourly ? '1h' : null
    const limit = { max_usd: usd(max), duration, rpm_limit: rpm, tpm_limit: tpm, max_parallel: slots }
    await bench.set(of, this.run, { ...limits, ...limit })
    this.model.set(`${of}:${this.run}`, { max, rpm, tpm, slots, isHourly })
  }

  async #reserve({ calls }: Extract<Step, { do: 'reserve' }>): Promise<void> {
    const asked = calls.map(({ who, ...wanted }) => {
      const known = { cents: wanted.isPriceless ? 0 : wanted.cents, tokens: wanted.isBoundless ? 0 : wanted.tokens }
      return { id: randomUUID(), payers: this.#payers(who), wanted: { ...wanted, ...known } }
    })
    const verdicts = await Promise.all(
      asked.map(({ id, payers, wanted: { cents, tokens, isPriceless, isBoundless } }) =>
        bench.reserve({
          request_id: id,
          payers,
          amount_usd: isPriceless ? null : usd(cents),
          tokens: isBoundless ? null : tokens,
          facts: rowOf(id, payers, usd(cents), { outcome: 'lost', held_usd: usd(cents) }),
        }),
      ),
    )
    const expected = asked.map(({ id, payers, wanted }) => this.model.reserve(id, payers, wanted))
    assert.deepEqual(
      verdicts.map(({ is_admitted }) => is_admitted),
      expected,
      'admitted',
    )
    this.#begun.push(...asked.filter((_, at) => expected[at]))
  }

  async #settle({ chosen: number, cents, used }: Extract<Step, { do: 'settle' }>): Promise<void> {
    const found = this.#pick(number)
    if (found) await this.#book(found.id, found.payers, { cents, used })
  }

  async #book(id: string, payers: SomePayers, { cents, used }: { cents: number; used: number }): Promise<void> {
    await bench.usage.settle({ rows: [rowOf(id, payers, usd(cents), { output_tokens: used })], released: [] })
    this.model.settle(id, { payers, cents, used })
  }

  async #release(number: number): Promise<void> {
    const found = this.#pick(number)
    if (!found) return
    await bench.usage.settle({ rows: [], released: [found.id] })
    this.model.free(found.id, { used: 0, isUndone: true })
  }

  async #renew(number: number): Promise<void> {
    const found = this.#pick(number)
    if (!found) return
    await bench.reservations.renew([found.id])
    this.model.renew(found.id)
  }

  async #sweep(): Promise<void> {
    const orphans = await bench.reservations.orphans(1_000)
    await bench.usage.settle({ rows: orphans.map(({ facts }) => facts as unknown as UsageRow), released: [] })
    const mine = orphans.filter(({ request_id }) => this.#begun.some(({ id }) => id === request_id))
    assert.deepEqual(mine.map(({ request_id }) => request_id).sort(), this.model.sweep().sort())
  }
}

/** Asserts that the database matches the model. */
async function assertSame(model: Model, run: string, given: Step): Promise<void> {
  const { rows } = await bench.pool.query<{
    name: string
    reserved: string
    parallel: number
    requests: number
    tokens: number
    spent: string
  }>(
    `select scope || ':' || scope_id as name, reserved_usd * 100 as reserved, parallel, spent,
            case when window_started_at = date_trunc('minute', at) then window_requests else 0 end as requests,
            case when window_started_at = date_trunc('minute', at) then window_tokens else 0 end as tokens
     from budgets, test_clock,
          lateral (select case when reset_at <= at then 0 else spent_usd * 100 end as spent) as now
     where scope_id = $1`,
    [run],
  )
  const seen = rows.map(({ name, ...row }) => ({
    name,
    ...row,
    reserved: Number(row.reserved),
    spent: Number(row.spent),
  }))
  const expected = [...model.budgets].map(([name, budget]) => {
    const isCurrent = budget.minute === Math.floor(model.now / 60)
    const { reserved, parallel } = budget
    const spent = budget.isHourly && budget.resetAt <= model.now ? 0 : budget.spent
    return {
      name,
      reserved,
      parallel,
      spent,
      requests: isCurrent ? budget.requests : 0,
      tokens: isCurrent ? budget.tokens : 0,
    }
  })
  const byName = <T extends { readonly name: string }>(list: readonly T[]) =>
    new Map(list.map(({ name, ...rest }) => [name, rest]))
  assert.deepEqual(byName(seen), byName(expected), `after ${JSON.stringify(given)}`)
  for (const { name, reserved } of seen) {
    const [of = ''] = name.split(':')
    // Reservations of a deleted budget still exist, but count in no budget.
    const open = [...model.live.values()].filter(({ heldIn }) =>
      heldIn.some(entry => entry.name === name && entry.identity === model.budgets.get(name)?.identity),
    )
    assert.equal(
      reserved,
      open.reduce((sum, { cents }) => sum + cents, 0),
      `reserved in ${of}`,
    )
  }
  const { rows: booked } = await bench.pool.query<{ cents: string }>(
    `select coalesce(sum(cost_usd), 0) * 100 as cents from usage where request_id = any ($1)`,
    [[...model.ledger.keys()]],
  )
  assert.equal(
    Number(booked[0]?.cents),
    [...model.ledger.values()].reduce((sum, cents) => sum + cents, 0),
    'the ledger',
  )
}

test('budgets behave like the model of the specification for any sequence of steps', async () => {
  const initial = fc.tuple(
    ...scopes.map(of => fc.record({ do: fc.constant('set' as const), scope: fc.constant(of), ...given })),
  )
  const steps = fc.array(step, { minLength: 10, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(initial, steps, async (first, more) => {
      const comparison = new Comparison()
      for (const one of [...first, ...more]) await comparison.take(one)
    }),
    { numRuns: 60 },
  )
})
