import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent } from '../../src/contract/agents.ts'
import type { WebhookAcceptance } from '../../src/contract/webhooks.ts'
import { eventually } from '../support/service/eventually.ts'
import type { Answered } from '../support/service/send.ts'
import { checkInvariants } from './checker.ts'
import { hooked, isAlive } from './crash-at-write.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { createJournal } from './journal.ts'
import { untilQuiet } from './load.ts'
import { type Observer, observe } from './observer.ts'
import { sendOnce } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { scriptedText, startUpstream, type Upstream } from './upstream.ts'

const token = 'token-of-the-faulty-webhook'

/** Makes agents whose webhook reads its message from the payload. */
async function agentsOf(site: Site, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < count; at++) {
    const webhook = { secret_key: 'HOOK', template: '{{prompt}}' }
    const body = { name: `Hook ${at}`, owner_id: 'team', model: 'scripted', config: { webhook } }
    const made = await sendOnce(site, 'POST /api/agents', { body })
    assert.equal(made.status, 201, made.text)
    ids.push(made.json<Agent>().id)
  }
  const stored = await sendOnce(site, 'POST /api/vault', { body: { key: 'HOOK', value: token } })
  assert.equal(stored.status, 200, stored.text)
  return ids
}

const deliver = (site: Site, agentId: string, id: string): Promise<Answered> =>
  sendOnce({ url: site.url }, `POST /api/agents/${agentId}/webhook`, {
    headers: { authorization: `Bearer ${token}`, 'webhook-id': id },
    body: { prompt: scriptedText(id, [{ text: `done ${id}` }]) },
  })

const statusOf = (answer: Answered): string => `${answer.status} ${answer.json<Partial<WebhookAcceptance>>().status}`

/** `api`: the sessions wait for others to run them. */
type Role = 'all' | 'api'

interface Pair {
  readonly upstream: Upstream
  readonly sites: readonly [Site, Site]
  readonly observer: Observer
}

async function startPair(bench: Bench, database: string, role: Role): Promise<Pair> {
  const upstream = await startUpstream(bench)
  const shared = {
    upstream,
    database,
    dataDir: join(bench.folder, 'data'),
    maxSessions: 20,
    env: { SWITCHYARD_ROLE: role },
  }
  const sites = [await createSite(bench, shared), await createSite(bench, shared)] as const
  for (const site of sites) await site.start()
  return { upstream, sites, observer: observe(bench, database) }
}

async function checkPair(bench: Bench, { upstream, sites, observer }: Pair, withinMs: number): Promise<void> {
  await eventually(async () => (await observer.openPrompts()) === 0, { withinMs, what: 'the end of all prompts' })
  await untilQuiet(observer, [])
  const [target] = sites
  const logs = sites.map(site => site.logs()).join('\n')
  const journal = createJournal(bench)
  await checkInvariants({ observer, journal, target, upstream, readers: [], dataDir: target.dataDir, logs })
}

const counted = async ({ pool }: Observer) => {
  const text = 'select (select count(*) from sessions) as sessions, (select count(*) from prompts) as prompts'
  return (await pool.query<{ sessions: number; prompts: number }>(text)).rows[0]
}

interface StormPlan {
  readonly deliveries: number
  readonly database: string
}

/** F23: parallel deliveries of one id on two replicas: one session, one prompt, one `accepted`. */
export async function stormOfOneId(bench: Bench, { deliveries, database }: StormPlan) {
  const pair = await startPair(bench, database, 'all')
  const [agent = ''] = await agentsOf(pair.sites[0], 1)
  const startedAt = performance.now()
  const answers = await Promise.all(
    Array.from({ length: deliveries }, (_, at) => deliver(pair.sites[at % 2 === 0 ? 0 : 1], agent, 'storm')),
  )
  const tookMs = Math.round(performance.now() - startedAt)
  const by = Object.groupBy(answers, statusOf)
  const {
    '202 accepted': accepted = [],
    '202 duplicate': duplicate = [],
    '503 processing': processing = [],
    ...rest
  } = by
  assert.deepEqual(Object.keys(rest), [], `other answers: ${Object.values(rest)[0]?.[0]?.text}`)
  assert.equal(accepted.length, 1)
  assert.equal(accepted.length + duplicate.length + processing.length, deliveries)
  const sessions = new Set([...accepted, ...duplicate].map(answer => answer.json<WebhookAcceptance>().session_id))
  assert.equal(sessions.size, 1, 'all name one session')
  assert.equal(statusOf(await deliver(pair.sites[0], agent, 'storm')), '202 duplicate')
  assert.deepEqual(await counted(pair.observer), { sessions: 1, prompts: 1 })
  await checkPair(bench, pair, 30_000)
  return { deliveries, took_ms: tookMs, duplicate: duplicate.length, processing: processing.length }
}

/** As a sender does it: 503 is tried again. */
async function untilTaken(attempt: () => Promise<Answered>): Promise<void> {
  for (;;) {
    const answer = await attempt()
    if (answer.status === 202) return
    assert.equal(answer.status, 503, answer.text)
    await sleep(500)
  }
}

interface FlowPlan extends StormPlan {
  readonly agents: number
  readonly withinMs: number
  /** The 99th percentile of the answers must be below. */
  readonly p99Ms: number
  readonly role: Role
}

/** F25: different ids at a steady rate on two replicas: a session each, and the time of their answers. */
export async function flowOfIds(
  bench: Bench,
  { deliveries, agents: count, withinMs, p99Ms, role, database }: FlowPlan,
) {
  const pair = await startPair(bench, database, role)
  const agents = await agentsOf(pair.sites[0], count)
  const startedAt = performance.now()
  const times = await Promise.all(
    Array.from({ length: deliveries }, async (_, at) => {
      const dueMs = (at / deliveries) * withinMs
      await sleep(dueMs)
      const sentAt = performance.now()
      await untilTaken(() => deliver(pair.sites[at % 2 === 0 ? 0 : 1], agents[at % count] ?? '', `d${at}`))
      return performance.now() - sentAt
    }),
  )
  const tookMs = Math.round(performance.now() - startedAt)
  assert.deepEqual(await counted(pair.observer), { sessions: deliveries, prompts: deliveries })
  const sorted = times.sort((a, b) => a - b)
  const quantile = (part: number) => Math.round(sorted[Math.floor(sorted.length * part)] ?? 0)
  const numbers = { took_ms: tookMs, p50_ms: quantile(0.5), p99_ms: quantile(0.99), max_ms: quantile(0.9999) }
  bench.log(JSON.stringify(numbers))
  if (role === 'all') await checkPair(bench, pair, 240_000)
  assert.ok(numbers.p99_ms < p99Ms, `p99 is ${numbers.p99_ms} ms, not below ${p99Ms}`)
  return { deliveries, ...numbers }
}

/** Where the process dies, and what the sender receives in the end. */
const moments = [
  { name: 'after the claim', plan: { words: 'insert into sessions' }, told: 'accepted' },
  { name: 'after the session', plan: { words: 'from accept_prompt(' }, told: 'accepted' },
  { name: 'after the prompt', plan: { words: 'set status = $4' }, told: 'accepted' },
  { name: 'before the reply', plan: { committed: 'set status = $4' }, told: 'duplicate' },
] as const

interface CrashPlan {
  /** One a moment. */
  readonly database: () => Promise<string>
  /** True lets claims run out at once, where there is no time to wait for a minute. */
  readonly isShort: boolean
}

/** F24: kill -9 at each step of a delivery, with a sender that tries again each second. */
export async function crashAtEachStep(bench: Bench, plan: CrashPlan) {
  const upstream = await startUpstream(bench)
  const rounds = await Promise.allSettled(
    moments.map((moment, at) => crashOnce(bench, { ...plan, ...moment, upstream, folder: `crash-${at}` })),
  )
  // After the last one: nothing is undone while another still works.
  const settled = rounds.map(round => {
    if (round.status === 'rejected') throw round.reason
    return round.value
  })
  return Object.fromEntries(
    moments.map(({ name }, at) => [`${name.replaceAll(' ', '_')}_settled_ms`, settled[at] ?? 0]),
  )
}

type Crash = CrashPlan & (typeof moments)[number] & { readonly upstream: Upstream; readonly folder: string }

/** The milliseconds from the first request until the sender got the reply. */
async function crashOnce(bench: Bench, crash: Crash): Promise<number> {
  const { name, plan, told, upstream, folder, database, isShort } = crash
  const dataDir = join(bench.folder, folder)
  const site = await createSite(bench, { upstream, database: await database(), dataDir })
  await site.start()
  const [agent = ''] = await agentsOf(site, 1)
  await site.kill()
  const observer = observe(bench, site.databaseUrl)
  const hurt = await site.start({ env: hooked(plan) })
  const startedAt = performance.now()
  const first = await deliver(site, agent, 'crash').catch(() => undefined)
  assert.equal(first, undefined, `${name}: the process lived on and answered ${first?.text}`)
  await eventually(() => !isAlive(hurt.pid), { what: 'the end of the process' })
  await site.start()
  if (isShort) await observer.pool.query('update webhook_deliveries set claimed_until = clock_timestamp()')
  const seen: string[] = []
  const last = await eventually(
    async () => {
      const answer = await deliver(site, agent, 'crash')
      seen.push(statusOf(answer))
      if (answer.status === 202) return answer
      await sleep(1_000, undefined, { signal: bench.signal })
      return false
    },
    { withinMs: 90_000, what: 'an answer to the sender' },
  )
  const settledMs = Math.round(performance.now() - startedAt)
  bench.log(`${name}: ${settledMs} ms, ${seen.length} tries`)
  assert.equal(statusOf(last), `202 ${told}`, name)
  assert.deepEqual([...new Set(seen.slice(0, -1))], seen.length > 1 ? ['503 processing'] : [], name)
  assert.equal(statusOf(await deliver(site, agent, 'crash')), '202 duplicate')
  assert.deepEqual(await counted(observer), { sessions: 1, prompts: 1 }, name)
  const { rows } = await observer.pool.query<{ id: string }>('select id from sessions')
  assert.equal(last.json<WebhookAcceptance>().session_id, rows[0]?.id)
  await untilQuiet(observer, [])
  assert.ok(settledMs <= 65_000, `${name}: settled after ${settledMs} ms, not 65 s`)
  return settledMs
}

/** F23 to F25. */
export const webhookCases: readonly FaultCase[] = [
  {
    id: 'F23',
    group: 'webhooks',
    title: '5,000 parallel deliveries of one id on 2 replicas',
    run: async bench => ({
      rounds: 1,
      numbers: await stormOfOneId(bench, { deliveries: 5_000, database: await bench.cluster.database() }),
    }),
  },
  {
    id: 'F24',
    group: 'webhooks',
    title: 'kill -9 after claim, session, prompt, and before the reply of a delivery; retried each second',
    run: async bench => ({
      rounds: moments.length,
      numbers: await crashAtEachStep(bench, { database: () => bench.cluster.database(), isShort: false }),
    }),
  },
  ...(['api', 'all'] as const).map((role, at) => ({
    id: `F25${'ab'[at]}`,
    group: 'webhooks',
    title: `5,000 deliveries of different ids in 60 s over 50 agents, on 2 replicas of role ${role}`,
    run: async (bench: Bench) => ({
      rounds: 1,
      numbers: await flowOfIds(bench, {
        deliveries: 5_000,
        agents: 50,
        withinMs: 60_000,
        p99Ms: 2_000,
        role,
        database: await bench.cluster.database(),
      }),
    }),
  })),
]
