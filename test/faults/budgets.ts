import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { ApiKey, ShownApiKey } from '../../src/contract/keys.ts'
import { eventually } from '../support/service/eventually.ts'
import type { Answered } from '../support/service/send.ts'
import { startCluster } from './cluster.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { invariants } from './invariants.ts'
import { type Observer, observe } from './observer.ts'
import { sendOnce } from './single-connection.ts'
import { createSite, type Site, type SiteOptions } from './site.ts'
import { scriptedText, startUpstream, type Upstream } from './upstream.ts'

/** Nothing for input and a tenth of a cent for a token of output: a call of 100 tokens may cost, and costs, ten cents. */
const price = { input_cost_per_token: 0, output_cost_per_token: 0.001 }
const maxTokens = 100
const centsPerToken = 0.1
const usage = { input_tokens: 500, output_tokens: maxTokens }
/** Short, so that a case need not wait for a quarter of an hour. */
const reservationS = 4
const calls = 1_000
const budgetUsd = 5
const admitted = 50

interface Place {
  readonly bench: Bench
  readonly upstream: Upstream
  readonly sites: readonly Site[]
  readonly observer: Observer
}

/** Replicas of one service on one database, started. */
async function createPlace(bench: Bench, replicas: number, database?: SiteOptions['database']): Promise<Place> {
  const upstream = await startUpstream(bench)
  const shared = {
    upstream,
    database: database ?? (await bench.cluster.database()),
    dataDir: join(bench.folder, 'data'),
    model: price,
    limits: { reservation_s: reservationS, max_loop_delay_ms: 60_000 },
  }
  const sites: Site[] = []
  for (let at = 0; at < replicas; at++) {
    const site = await createSite(bench, shared)
    await site.start()
    sites.push(site)
  }
  return { bench, upstream, sites, observer: observe(bench, shared.database) }
}

const first = ({ sites }: Place): Site => {
  const [site] = sites
  if (!site) throw new Error('there is no site')
  return site
}

async function newKey(site: Site, body: object): Promise<ShownApiKey> {
  const answer = await sendOnce(site, 'POST /api/keys', { body })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<ShownApiKey>()
}

const record = async (site: Site, { id }: ApiKey) => (await sendOnce(site, `GET /api/keys/${id}`)).json<ApiKey>()

/** Calls at once, spread over the sites; a call whose server is killed under it is counted under 0. */
async function callAtOnce(
  sites: readonly Site[],
  key: string,
  options: { calls: number; name: string; delayMs?: number },
) {
  const one = async (at: number): Promise<Answered | undefined> => {
    const { url } = sites[at % sites.length] ?? { url: '' }
    const text = scriptedText(`${options.name}-${at}`, [
      { usage, ...(options.delayMs && { delayMs: options.delayMs }) },
    ])
    const body = {
      model: 'scripted',
      max_tokens: maxTokens,
      stream: at % 2 === 0,
      messages: [{ role: 'user', content: text }],
    }
    return sendOnce({ url, key }, 'POST /v1/messages', { body }).catch(() => undefined)
  }
  const answers = await Promise.all(Array.from({ length: options.calls }, (_, at) => one(at)))
  const statuses = Map.groupBy(answers, answer => answer?.status ?? 0)
  return (status: number): number => statuses.get(status)?.length ?? 0
}

/** Once nothing is reserved: ledger, key and upstream must agree, to the cent. */
async function settled(
  { upstream, observer, ...place }: Place,
  key: ApiKey,
  site = first({ upstream, observer, ...place }),
) {
  const quiet = await eventually(
    async () => {
      const found = await record(site, key)
      return found.reserved === 0 && found
    },
    { withinMs: 30_000, what: 'the settlement of all calls' },
  )
  for (const { id, claim, sql } of invariants.filter(invariant => invariant.id === 'I5'))
    assert.deepEqual((await observer.pool.query(sql)).rows, [], `${id} is broken: ${claim}`)
  const { rows } = await observer.pool.query<{ calls: number; usd: number; lost: number }>(
    `select count(*) as calls, coalesce(sum(cost_usd), 0)::float8 as usd, count(*) filter (where outcome = 'lost') as lost
     from usage where key_id = $1`,
    [key.id],
  )
  const seen = upstream.record().filter(({ what }) => what === 'call')
  const upstreamCents = seen.reduce((sum, { outputTokens }) => sum + outputTokens * centsPerToken, 0)
  const ledger = rows[0] ?? { calls: 0, usd: 0, lost: 0 }
  return {
    spend_usd: quiet.spend,
    ledger_usd: ledger.usd,
    upstream_usd: Math.round(upstreamCents) / 100,
    ledger_calls: ledger.calls,
    lost_calls: ledger.lost,
    upstream_calls: seen.length,
  }
}

/** F27: 1,000 calls at once that may cost ten cents each, against five dollars. */
async function crowd(bench: Bench, replicas: number) {
  const place = await createPlace(bench, replicas)
  const key = await newKey(first(place), { max_budget: budgetUsd })
  const startedAt = performance.now()
  const count = await callAtOnce(place.sites, key.key, { calls, name: 'crowd' })
  const ms = Math.round(performance.now() - startedAt)
  const figures = await settled(place, key)
  assert.deepEqual([count(200), count(402)], [admitted, calls - admitted])
  assert.equal(figures.upstream_calls, admitted)
  assert.deepEqual([figures.spend_usd, figures.ledger_usd, figures.upstream_usd], [budgetUsd, budgetUsd, budgetUsd])
  return { rounds: calls, numbers: { admitted: count(200), refused_402: count(402), ...figures, all_answered_ms: ms } }
}

/** F28: the same, but the server is killed while the fifty are in flight. */
async function killAtWork(bench: Bench, replicas: number) {
  const place = await createPlace(bench, replicas)
  const { observer, sites, upstream } = place
  const site = first(place)
  const last = sites.at(-1) ?? site
  const key = await newKey(site, { max_budget: budgetUsd, max_parallel_requests: admitted })
  // All of them at the one that will be killed.
  const answered = callAtOnce([site], key.key, { calls, name: 'killed', delayMs: 60_000 })
  const atWork = () => upstream.record().filter(({ what }) => what === 'call').length === admitted
  await eventually(atWork, { withinMs: 30_000, what: 'fifty calls in flight' })
  await site.kill()
  await answered
  if (replicas === 1) await site.start()

  const early = await callAtOnce([last], key.key, { calls: 20, name: 'early' })
  const heldFor = await record(last, key)
  const expiredAt = performance.now()
  await eventually(async () => (await record(last, key)).reserved === 0, { withinMs: 30_000, what: 'the expiry' })
  const freedMs = Math.round(performance.now() - expiredAt)
  const late = await callAtOnce([last], key.key, { calls: 20, name: 'late' })
  const raised = await sendOnce(last, `PATCH /api/keys/${key.id}`, { body: { max_budget: budgetUsd + 1 } })
  assert.equal(raised.status, 200, raised.text)
  const after = await callAtOnce([last], key.key, { calls: 100, name: 'after' })
  const figures = await settled(place, key, last)
  const { rows } = await observer.pool.query('select from reservations')
  bench.log(`held at the kill: $${heldFor.reserved}; freed after ${freedMs} ms`)
  assert.equal(heldFor.reserved + heldFor.spend, budgetUsd, 'all of it is held, or counted as spent')
  assert.equal(early(200), 0, 'nothing is let in while it is held')
  assert.equal(late(200), 0, 'what was lost counts as spent')
  assert.deepEqual([after(200), figures.lost_calls, rows.length], [10, admitted, 0])
  assert.deepEqual([figures.spend_usd, figures.ledger_usd, figures.upstream_usd], [6, 6, 6])
  return {
    rounds: calls,
    numbers: {
      in_flight_at_kill: admitted,
      let_in_while_held: early(200),
      let_in_after_raise: after(200),
      freed_ms: freedMs,
      ...figures,
    },
  }
}

/** F28: calls in a flow, which are admitted from slices, while one of two servers is killed. */
async function killUnderSlices(bench: Bench) {
  const place = await createPlace(bench, 2)
  const { observer, sites, upstream } = place
  const [first, killed] = sites as [Site, Site]
  const key = await newKey(first, { max_budget: 1_000 })
  let isOver = false
  let calls = 0
  const flow = async (site: Site): Promise<void> => {
    while (!isOver) {
      const answered = await callAtOnce([site], key.key, { calls: 1, name: `flow-${++calls}`, delayMs: 20 })
      if (answered(200) === 0 && site === killed) return
    }
  }
  const flows = sites.flatMap(site => Array.from({ length: 20 }, () => flow(site)))
  const slicesText = `select count(*) as slices from reservations where starts_with(request_id, 'slice_')`
  const slices = async () => (await observer.pool.query<{ slices: number }>(slicesText)).rows[0]?.slices ?? 0
  await eventually(async () => calls > 400 && (await slices()) >= 2, {
    withinMs: 30_000,
    what: 'slices of both servers',
  })
  await killed.kill()
  const { rows: left } = await observer.pool.query<{ usd: number }>(
    'select sum(amount_usd)::float8 as usd from reservations',
  )
  await eventually(() => calls > 600, { withinMs: 30_000, what: 'more calls' })
  isOver = true
  await Promise.all(flows)
  const figures = await settled(place, key)
  const lostText = `select sum(cost_usd)::float8 as usd from usage where outcome = 'lost'`
  const lost = (await observer.pool.query<{ usd: number }>(lostText)).rows[0]?.usd ?? 0
  assert.ok(figures.lost_calls >= 1 && lost > 0, 'what the killed server held counts as spent')
  assert.ok(lost <= (left[0]?.usd ?? 0), 'and no more than that')
  assert.equal(figures.spend_usd.toFixed(6), figures.ledger_usd.toFixed(6))
  assert.ok(figures.ledger_usd >= figures.upstream_usd, 'no call that was paid for is missing')
  assert.ok(upstream.record().length > 600)
  return { rounds: calls, numbers: { ...figures, lost_usd: lost } }
}

/** The database becomes unreachable: limited keys are rejected, the master key works, and nothing that was used is forgotten. */
async function databaseAway(bench: Bench) {
  const cluster = await startCluster(join(bench.folder, 'cluster'))
  bench.defer(() => cluster.stop())
  const place = await createPlace(bench, 1, await cluster.database())
  const site = first(place)
  const limited = await newKey(site, { max_budget: 100 })
  const free = await newKey(site, {})
  const callWith = async (key: string, name: string) => {
    const body = {
      model: 'scripted',
      max_tokens: maxTokens,
      messages: [{ role: 'user', content: scriptedText(name, [{ usage }]) }],
    }
    const answer = await sendOnce({ url: site.url, key }, 'POST /v1/messages', { body })
    return { status: answer.status, retryAfter: answer.headers['retry-after'] }
  }
  assert.equal((await callWith(limited.key, 'before-limited')).status, 200)
  assert.equal((await callWith(free.key, 'before-free')).status, 200)
  // Begun under a reservation, ended while nothing can be settled.
  const slow = callAtOnce([site], limited.key, { calls: 1, name: 'slow', delayMs: 2_000 })
  await eventually(() => place.upstream.record().some(({ key }) => key === 'slow-0'), { what: 'the slow call' })
  await cluster.stop('kill')
  // A server process may answer for a moment after its parent was killed.
  const refused = await eventually(async () => {
    const answer = await callWith(limited.key, 'refused')
    return answer.status !== 200 && answer
  })
  assert.equal(refused.status, 503)
  assert.ok(refused.retryAfter)
  assert.equal((await callWith(free.key, 'remembered')).status, 200)
  assert.equal((await callWith(site.key, 'master')).status, 200)
  assert.equal((await slow)(200), 1)
  await eventually(async () => (await callWith(free.key, 'forgotten')).status === 503, { withinMs: 15_000 })
  assert.equal((await callWith(site.key, 'master-still')).status, 200)
  await cluster.start()
  await eventually(async () => (await callWith(limited.key, 'back')).status === 200, { withinMs: 20_000 })
  const { spend_usd } = await settled(place, limited)
  const answered = place.upstream.record().filter(({ what }) => what === 'call').length
  await eventually(() => isBooked(place.observer, answered), { what: `${answered} rows in the ledger` })
  const ofLimited = ['before-limited', 'slow-0', 'refused', 'back']
  const paid = place.upstream.record().filter(({ what, key }) => what === 'call' && ofLimited.includes(key)).length
  assert.equal(spend_usd, paid / 10)
  return { rounds: 1, numbers: { limited_key: 503, upstream_calls: answered, booked_calls: answered } }
}

async function isBooked(observer: Observer, calls: number): Promise<boolean> {
  const { rows } = await observer.pool.query<{ booked: number }>('select count(*) as booked from usage')
  return rows[0]?.booked === calls
}

/** F27, F28, and F08 as far as it concerns budgets. */
export const budgetCases: readonly FaultCase[] = [
  {
    id: 'F27',
    group: 'budgets',
    title: `$${budgetUsd} budget, ${calls} parallel calls of $0.10 worst case, one replica`,
    run: bench => crowd(bench, 1),
  },
  {
    id: 'F27-replicas',
    group: 'budgets',
    title: `$${budgetUsd} budget, ${calls} parallel calls of $0.10 worst case, two replicas on one database`,
    run: bench => crowd(bench, 2),
  },
  {
    id: 'F28',
    group: 'budgets',
    title: 'kill -9 of the only server while 50 calls are in flight under a full budget',
    run: bench => killAtWork(bench, 1),
  },
  {
    id: 'F28-replicas',
    group: 'budgets',
    title: 'kill -9 of one of two replicas while 50 calls are in flight under a full budget',
    run: bench => killAtWork(bench, 2),
  },
  {
    id: 'F28-slices',
    group: 'budgets',
    title: 'kill -9 of one of two replicas while calls are admitted from slices of a budget',
    run: killUnderSlices,
  },
  {
    id: 'F08-budgets',
    group: 'budgets',
    title: 'the database away under keys with and without limits',
    run: databaseAway,
  },
]
