import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MessageBatch } from '../../src/contract/batches.ts'
import type { ApiKey, ShownApiKey } from '../../src/contract/keys.ts'
import { eventually } from '../support/service/eventually.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { invariants } from './invariants.ts'
import { type Observer, observe } from './observer.ts'
import { sendOnce } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { scriptedText, startUpstream, type Upstream } from './upstream.ts'

/** Nothing for input and a tenth of a cent for a token of output: each call costs ten cents. */
const price = { input_cost_per_token: 0, output_cost_per_token: 0.001 }
const maxTokens = 100
const usage = { input_tokens: 500, output_tokens: maxTokens }
const costUsd = 0.1
/** Short, so that a case need not wait for a quarter of an hour. */
const reservationS = 4

export interface BatchPlan {
  readonly lines: number
  /** Calls at once. */
  readonly calls: number
  /** Time that the upstream takes for each answer. */
  readonly delayMs: number
  readonly database: string
  readonly kills: number
  /** Resolves when the server must be killed again. */
  readonly untilKill: (place: { readonly done: () => Promise<number>; readonly kills: number }) => Promise<unknown>
}

interface Place {
  readonly site: Site
  readonly observer: Observer
  readonly upstream: Upstream
  readonly holder: ShownApiKey
  readonly id: string
}

/**
 * Kills the only server again and again while it makes the calls of a batch, whose budget has room for a part of them
 * and is raised later. Rejects unless each line has one result, and the ledger has every call of the upstream.
 */
export async function killUnderBatch(bench: Bench, plan: BatchPlan) {
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, {
    upstream,
    database: plan.database,
    model: price,
    limits: { reservation_s: reservationS, max_loop_delay_ms: 60_000, batch_calls: plan.calls },
  })
  await site.start()
  const observer = observe(bench, plan.database)
  const firstBudget = round(plan.lines * costUsd * 0.6)
  // A limit of parallel calls, so that each call has its own reservation.
  const body = { max_budget: firstBudget, max_parallel_requests: plan.calls + 10 }
  const holder = (await sendOnce(site, 'POST /api/keys', { body })).json<ShownApiKey>()
  const requests = Array.from({ length: plan.lines }, (_, at) => request(`line-${at}`, plan.delayMs))
  const created = await sendOnce({ url: site.url, key: holder.key }, 'POST /v1/messages/batches', {
    body: { requests },
  })
  assert.equal(created.status, 200, created.text)
  const place: Place = { site, observer, upstream, holder, id: created.json<MessageBatch>().id }
  const startedAt = performance.now()

  const half = Math.ceil(plan.kills / 2)
  await kill(place, plan, bench, { from: 0, to: half })
  await untilBudgetIsUsed(place)
  const spentUsd = await spendOf(place)
  assert.ok(spentUsd <= firstBudget + 1e-9, `spent $${spentUsd} of $${firstBudget}`)
  const raised = round(plan.lines * costUsd * 3)
  const patched = await sendOnce(site, `PATCH /api/keys/${holder.id}`, { body: { max_budget: raised } })
  assert.equal(patched.status, 200, patched.text)
  await kill(place, plan, bench, { from: half, to: plan.kills })
  await eventually(async () => (await batchOf(place)).processing_status === 'ended', {
    withinMs: 600_000,
    what: 'the end of the batch',
  })
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  await checkResults(place, plan)
  return {
    lines: plan.lines,
    kills: plan.kills,
    first_budget_usd: firstBudget,
    seconds,
    ...(await checkLedger(place, plan)),
  }
}

const round = (usd: number): number => Math.round(usd * 100) / 100

const request = (name: string, delayMs: number) => ({
  custom_id: name,
  params: {
    model: 'scripted',
    max_tokens: maxTokens,
    messages: [{ role: 'user', content: scriptedText(name, [{ usage, delayMs, text: `answer to ${name}` }]) }],
  },
})

interface Kills {
  readonly from: number
  readonly to: number
}

async function kill(
  { site, observer, id }: Place,
  plan: BatchPlan,
  { log }: Bench,
  { from, to }: Kills,
): Promise<void> {
  const text = 'select succeeded + errored as done from batches where id = $1'
  const done = async () => (await observer.pool.query<{ done: number }>(text, [id])).rows[0]?.done ?? 0
  for (let kills = from; kills < to; kills++) {
    await plan.untilKill({ done, kills })
    await site.kill()
    log(`kill ${kills + 1} of ${plan.kills} after ${await done()} lines`)
    await site.start()
  }
}

/** Resolves once the lines wait for the budget. */
async function untilBudgetIsUsed({ observer, id }: Place): Promise<void> {
  const text = 'select waiting_for from batches where id = $1'
  const isWaiting = async () =>
    Boolean((await observer.pool.query<{ waiting_for: string | null }>(text, [id])).rows[0]?.waiting_for)
  await eventually(isWaiting, { withinMs: 600_000, what: 'lines that wait for the budget' })
}

const batchOf = async ({ site, holder, id }: Place): Promise<MessageBatch> =>
  (await sendOnce({ url: site.url, key: holder.key }, `GET /v1/messages/batches/${id}`)).json<MessageBatch>()

const spendOf = async ({ site, holder }: Place): Promise<number> =>
  (await sendOnce(site, `GET /api/keys/${holder.id}`)).json<ApiKey>().spend

interface Line {
  readonly custom_id: string
  readonly result: {
    readonly type: string
    readonly message?: { readonly content: readonly { readonly text: string }[] }
  }
}

/** Each line has exactly one result, its own. */
async function checkResults(place: Place, { lines }: BatchPlan): Promise<void> {
  const { site, holder, id } = place
  const { text } = await sendOnce({ url: site.url, key: holder.key }, `GET /v1/messages/batches/${id}/results`)
  const results = text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Line)
  assert.deepEqual(
    results.map(({ custom_id, result }) => [custom_id, result.type, result.message?.content[0]?.text]),
    Array.from({ length: lines }, (_, at) => [`line-${at}`, 'succeeded', `answer to line-${at}`]),
  )
  assert.equal((await batchOf(place)).request_counts.succeeded, lines)
}

/** Every call that the upstream got is in the ledger: completed, or lost with its process. */
async function checkLedger(place: Place, { lines }: BatchPlan) {
  const { observer, upstream, id } = place
  const isQuiet = async () => (await observer.pool.query('select from reservations')).rows.length === 0
  await eventually(isQuiet, { withinMs: 60_000, what: 'the end of all reservations' })
  for (const { id: invariant, claim, sql } of invariants.filter(({ id }) => id === 'I5'))
    assert.deepEqual((await observer.pool.query(sql)).rows, [], `${invariant} is broken: ${claim}`)
  const text = `
    select count(*) filter (where outcome <> 'lost') as ended, count(*) filter (where outcome = 'lost') as lost,
           sum(cost_usd)::float8 as usd
    from usage where batch_id = $1`
  const {
    ended = 0,
    lost = 0,
    usd = 0,
  } = (await observer.pool.query<{ ended: number; lost: number; usd: number }>(text, [id])).rows[0] ?? {}
  const calls = upstream.record().filter(({ what }) => what === 'call').length
  // A call whose result is stored is lost when its process is killed before the ledger has its row.
  assert.ok(ended + lost >= lines, `${ended} ended and ${lost} lost calls in the ledger for ${lines} lines`)
  assert.ok(
    ended <= calls && calls <= ended + lost,
    `${calls} calls at the upstream, ${ended} ended and ${lost} lost ones in the ledger`,
  )
  const spent = await spendOf(place)
  assert.equal(spent.toFixed(4), usd.toFixed(4))
  return { upstream_calls: calls, ledger_ended: ended, ledger_lost: lost, spent_usd: spent }
}

const lines = 10_000

export const batchCases: readonly FaultCase[] = [
  {
    id: 'F45',
    group: 'batches',
    title: `a batch of ${lines} requests while the only server is killed every 5 s, under a budget for a part of them`,
    async run(bench) {
      const plan = { lines, calls: 40, delayMs: 50, kills: 8 * bench.times, database: await bench.cluster.database() }
      const numbers = await killUnderBatch(bench, { ...plan, untilKill: () => sleep(5_000) })
      return { rounds: plan.kills, numbers }
    },
  },
]
