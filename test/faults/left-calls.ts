import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiKey, ShownApiKey } from '../../src/contract/keys.ts'
import { eventually } from '../support/service/eventually.ts'
import type { Target } from '../support/service/send.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { type Observer, observe } from './observer.ts'
import { sendOnce } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { scriptedText, startUpstream, type Upstream } from './upstream.ts'

const maxTokens = 100
const callUsd = 0.1
const usage = { input_tokens: 500, output_tokens: maxTokens }

interface Place {
  readonly site: Site
  readonly upstream: Upstream
  readonly observer: Observer
}

/** A call of 100 tokens costs ten cents, and a call that was left counts with all of them at once. */
async function createPlace(bench: Bench, database: string): Promise<Place> {
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, {
    upstream,
    database,
    model: { input_cost_per_token: 0, output_cost_per_token: callUsd / maxTokens },
    limits: { assumed_output_tokens_per_second: 1_000_000, max_loop_delay_ms: 60_000 },
  })
  await site.start()
  return { site, upstream, observer: observe(bench, database) }
}

async function newKey(site: Site, body: object): Promise<ShownApiKey> {
  const answer = await sendOnce(site, 'POST /api/keys', { body })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<ShownApiKey>()
}

/** The spend of a key, once nothing is reserved for it any more. */
const spendOf = (site: Site, { id }: ApiKey): Promise<number> =>
  eventually(
    async () => {
      const { reserved, spend } = (await sendOnce(site, `GET /api/keys/${id}`)).json<ApiKey>()
      return reserved === 0 && spend > 0 && spend
    },
    { withinMs: 30_000, what: 'the settlement of all calls' },
  )

interface Leaving {
  readonly name: string
  /** After which the upstream answers. */
  readonly delayMs: number
  readonly stream: boolean
  readonly signal: AbortSignal
}

/** The status of a call; undefined when its client has left. */
async function statusOf({ url, key }: Target, { name, delayMs, stream, signal }: Leaving): Promise<number | undefined> {
  const content = scriptedText(name, [{ usage, delayMs }])
  const body = { model: 'scripted', max_tokens: maxTokens, stream, messages: [{ role: 'user', content }] }
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}`, connection: 'close' }
  const sent = { method: 'POST', headers, body: JSON.stringify(body), signal }
  return fetch(`${url}/v1/messages`, sent).then(
    async answer => {
      await answer.text()
      return answer.status
    },
    () => undefined,
  )
}

const callsAt = (upstream: Upstream, what: 'call' | 'closed'): number =>
  upstream.record().filter(entry => entry.what === what).length

/** Calls whose clients hang up as soon as the upstream has the request: how many it got, and what each key has spent. */
export async function hangUp(bench: Bench, { calls, database }: { calls: number; database: string }) {
  const { site, upstream } = await createPlace(bench, database)
  const free = await newKey(site, {})
  const limited = await newKey(site, { max_budget: 1 })
  const leaveOne = async (key: string, at: number) => {
    const gone = new AbortController()
    const before = callsAt(upstream, 'call')
    const leaving = { name: `left-${at}`, delayMs: 60_000, stream: at % 2 === 0, signal: gone.signal }
    const status = statusOf({ url: site.url, key }, leaving)
    const isThere = eventually(() => callsAt(upstream, 'call') > before, { withinMs: 30_000, what: 'the call' })
    const refused = await Promise.race([status, isThere.then(() => undefined)])
    gone.abort()
    await Promise.all([status, refused === undefined && isThere]).catch(() => undefined)
    return refused
  }
  for (let at = 0; at < calls; at++) assert.equal(await leaveOne(free.key, at), undefined)
  const refused: (number | undefined)[] = []
  for (let at = 0; at < calls && !refused.includes(402); at++) refused.push(await leaveOne(limited.key, calls + at))
  const [freeUsd, limitedUsd] = [await spendOf(site, free), await spendOf(site, limited)]
  return { calls, free_usd: freeUsd, limited_usd: limitedUsd, limited_calls: refused.length - 1 }
}

/**
 * The server is stopped with calls in flight. The upstream answers them all; half of the clients have left before that, half
 * leave after it. Then the server continues.
 */
export async function pause(bench: Bench, { calls, database }: { calls: number; database: string }) {
  const { site, upstream, observer } = await createPlace(bench, database)
  const key = await newKey(site, {})
  const clients = Array.from({ length: calls }, (_, at) => ({ at, gone: new AbortController() }))
  const answered = clients.map(({ at, gone }) =>
    statusOf(
      { url: site.url, key: key.key },
      { name: `paused-${at}`, delayMs: 3_000, stream: at % 4 < 2, signal: gone.signal },
    ),
  )
  await eventually(() => callsAt(upstream, 'call') === calls, { withinMs: 20_000, what: 'all calls' })
  const pid = site.service?.pid ?? 0
  process.kill(pid, 'SIGSTOP')
  try {
    for (const { at, gone } of clients) if (at % 2 === 0) gone.abort()
    await eventually(() => callsAt(upstream, 'closed') === calls, { withinMs: 30_000, what: 'all answers' })
    for (const { gone } of clients) gone.abort()
    await Promise.all(answered)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  const text = `select count(*) as rows, count(*) filter (where cost_usd > 0) as paid, count(*) filter (where estimated) as guessed
    from usage where key_id = $1`
  const rows = await eventually(
    async () => {
      const found = (await observer.pool.query<{ rows: number; paid: number; guessed: number }>(text, [key.id])).rows[0]
      return found?.rows === calls && found
    },
    { withinMs: 20_000, what: 'all rows' },
  )
  return { calls, paid_rows: rows.paid, estimated_rows: rows.guessed, spend_usd: await spendOf(site, key) }
}

/** How long before a kill a call must have been answered to be booked for sure: 100 ms, and a busy machine's delays. */
const bookedMs = 400

/** kill -9 while clients without a budget call: which answered calls have no row in the ledger. */
export async function killUnderCalls(bench: Bench, { forMs, database }: { forMs: number; database: string }) {
  const { site, upstream, observer } = await createPlace(bench, database)
  const { key } = await newKey(site, {})
  const answeredAt = new Map<string, number>()
  let isKilled = false
  const client = async (name: string) => {
    for (let at = 0; !isKilled; at++) {
      const body = {
        model: 'scripted',
        max_tokens: maxTokens,
        messages: [{ role: 'user', content: scriptedText(`${name}-${at}`, [{ usage }]) }],
      }
      const answer = await sendOnce({ url: site.url, key }, 'POST /v1/messages', { body }).catch(() => undefined)
      const id = answer?.headers['x-switchyard-request-id']
      if (answer?.status === 200 && typeof id === 'string') answeredAt.set(id, performance.now())
    }
  }
  const clients = Array.from({ length: 8 }, (_, at) => client(`c${at}`))
  await sleep(forMs)
  const killedAt = performance.now()
  await site.kill()
  isKilled = true
  await Promise.all(clients)
  const { rows } = await observer.pool.query<{ request_id: string }>('select request_id from usage')
  const booked = new Set(rows.map(({ request_id }) => request_id))
  const lost = [...answeredAt].filter(([id]) => !booked.has(id)).map(([, at]) => killedAt - at)
  assert.ok(callsAt(upstream, 'call') > 0)
  return { answered: answeredAt.size, lost: lost.length, oldest_lost_ms: Math.round(Math.max(0, ...lost)) }
}

/** V4 and V5: what the ledger states of calls that were left, and after a kill. */
export const ledgerCases: readonly FaultCase[] = [
  {
    id: 'V4',
    group: 'ledger',
    title: '40 calls that hang up before the first byte, with and without a budget',
    run: async bench => {
      const numbers = await hangUp(bench, { calls: 40, database: await bench.cluster.database() })
      assertHungUp(numbers)
      return { rounds: numbers.calls, numbers }
    },
  },
  {
    id: 'V4-paused',
    group: 'ledger',
    title: 'a server is paused with 40 calls in flight, and their clients leave',
    run: async bench => {
      const numbers = await pause(bench, { calls: 40, database: await bench.cluster.database() })
      assertPaused(numbers)
      return { rounds: numbers.calls, numbers }
    },
  },
  {
    id: 'V5',
    group: 'ledger',
    title: 'kill -9 under calls of a key without a budget',
    run: async bench => {
      const numbers = await killUnderCalls(bench, { forMs: 5_000, database: await bench.cluster.database() })
      assertBooked(numbers)
      return { rounds: numbers.answered, numbers }
    },
  },
]

/** Each call counts with the ten cents that it may cost, so ten of them use up a dollar. */
export function assertHungUp({ calls, ...spent }: Awaited<ReturnType<typeof hangUp>>): void {
  assert.deepEqual(spent, { free_usd: Math.round(calls * callUsd * 10) / 10, limited_usd: 1, limited_calls: 10 })
}

/** Every call is booked with what its upstream has stated. */
export function assertPaused({ calls, ...booked }: Awaited<ReturnType<typeof pause>>): void {
  assert.equal(booked.paid_rows, calls)
  assert.equal(booked.spend_usd, Math.round(calls * callUsd * 10) / 10)
}

export function assertBooked({ answered, oldest_lost_ms: oldestMs }: Awaited<ReturnType<typeof killUnderCalls>>): void {
  assert.ok(answered > 0)
  assert.ok(oldestMs <= bookedMs, `a call that was answered ${oldestMs} ms before the kill is not booked`)
}
