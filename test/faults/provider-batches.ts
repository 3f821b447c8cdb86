import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MessageBatch } from '../../src/contract/batches.ts'
import type { ApiKey, ShownApiKey } from '../../src/contract/keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { startBatchUpstream } from '../support/upstream/batch-upstream.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { observe } from './observer.ts'
import { sendOnce } from './single-connection.ts'
import { createSite, type Site } from './site.ts'

/** A tenth of a cent for a token of output: the 100 tokens of each answer cost ten cents, and half of that in a batch. */
const price = { input_cost_per_token: 0, output_cost_per_token: 0.001 }
const costUsd = 0.05
/** An interrupted submission is looked up for up to five minutes. */
const withinMs = 600_000
/** Longer than the service takes to submit a batch of this size. */
const submittedMs = 1_500

interface Plan {
  readonly batches: number
  readonly lines: number
}

/**
 * Kills the only server at a random moment after it got a batch, and again as soon as the provider has it and while its
 * results are taken. Rejects unless each request reached the provider once, and is once in the results and in the ledger.
 */
async function killUnderProviderBatches(bench: Bench, { batches, lines }: Plan) {
  const upstream = await startBatchUpstream()
  bench.defer(upstream.close)
  const database = await bench.cluster.database()
  const model = { ...price, model: 'anthropic/played', batch_api: true }
  const site = await createSite(bench, { upstream, database, model, limits: { max_loop_delay_ms: 60_000 } })
  await site.start()
  const observer = observe(bench, database)
  const body = { max_budget: 2 * batches * lines * costUsd }
  const holder = (await sendOnce(site, 'POST /api/keys', { body })).json<ShownApiKey>()
  const by = { url: site.url, key: holder.key }
  const restart = async (): Promise<void> => {
    await site.kill()
    await site.start()
  }

  let kills = 0
  for (let round = 0; round < batches; round++) {
    upstream.controls.isHeld = true
    const known = upstream.batches.length
    const id = await createBatch(by, { round, lines })
    await sleep(bench.random.whole(0, submittedMs))
    await restart()
    await eventually(async () => upstream.batches.length > known, { withinMs, what: 'a batch at the provider' })
    await restart()
    upstream.controls.isHeld = false
    const isTaken = async () =>
      (await observer.pool.query('select from batches where id = $1 and succeeded > 0', [id])).rows.length > 0
    await eventually(isTaken, { withinMs, what: 'the first result' })
    await restart()
    kills += 3
    const isEnded = async () =>
      (await sendOnce(by, `GET /v1/messages/batches/${id}`)).json<MessageBatch>().processing_status === 'ended'
    await eventually(isEnded, { withinMs, what: 'the end of the batch' })
    await checkResults(by, id, { round, lines })
    bench.log(`batch ${round + 1} of ${batches} has ended after 3 kills`)
  }

  const sent = upstream.batches.flatMap(batch => batch.lines)
  assert.equal(sent.length, batches * lines, 'each request reached the provider once')
  assert.deepEqual(upstream.singles, [])
  const isQuiet = async () => (await observer.pool.query('select from reservations')).rows.length === 0
  await eventually(isQuiet, { withinMs: 60_000, what: 'the end of all reservations' })
  const text = 'select count(*) as rows, sum(cost_usd)::float8 as usd from usage where batch_id is not null'
  const [ledger] = (await observer.pool.query<{ rows: number; usd: number }>(text)).rows
  assert.equal(ledger?.rows, batches * lines)
  const { spend } = (await sendOnce(site, `GET /api/keys/${holder.id}`)).json<ApiKey>()
  for (const usd of [spend, ledger?.usd ?? 0]) assert.equal(usd.toFixed(4), (batches * lines * costUsd).toFixed(4))
  return { rounds: kills, numbers: { batches, lines: batches * lines, kills, spent_usd: spend } }
}

const nameOf = (round: number, at: number): string => `line-${round}-${at}`

async function createBatch(by: Pick<Site, 'url' | 'key'>, { round, lines }: { round: number; lines: number }) {
  const requests = Array.from({ length: lines }, (_, at) => ({
    custom_id: nameOf(round, at),
    params: { model: 'scripted', max_tokens: 100, messages: [{ role: 'user', content: `${round} ${at}` }] },
  }))
  const created = await sendOnce(by, 'POST /v1/messages/batches', { body: { requests } })
  assert.equal(created.status, 200, created.text)
  return created.json<MessageBatch>().id
}

async function checkResults(
  by: Pick<Site, 'url' | 'key'>,
  id: string,
  { round, lines }: { round: number; lines: number },
): Promise<void> {
  const { text } = await sendOnce(by, `GET /v1/messages/batches/${id}/results`)
  const results = text.trimEnd().split('\n')
  assert.deepEqual(
    results.map(line => JSON.parse(line)).map(({ custom_id, result }) => [custom_id, result.type]),
    Array.from({ length: lines }, (_, at) => [nameOf(round, at), 'succeeded']),
  )
}

export const providerBatchCases: readonly FaultCase[] = [
  {
    id: 'F46',
    group: 'batches',
    title: 'batches at a provider while the only server is killed before, during and after its work on them',
    run: bench => killUnderProviderBatches(bench, { batches: 4 * bench.times, lines: 400 }),
  },
]
