import assert from 'node:assert/strict'
import { eventually } from '../support/service/eventually.ts'
import { checkInvariants } from './checker.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { createJournal, type Journal } from './journal.ts'
import { untilQuiet } from './load.ts'
import { type Observer, observe } from './observer.ts'
import { sendOnce } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { scriptedText, startUpstream, toolPrompt } from './upstream.ts'

interface ResetPlan {
  readonly sessions: number
  readonly promptsPerSession: number
  readonly resets: number
  /** An empty database of the case's own. */
  readonly database: string
}

/** Ends all connections of the service at once, while prompts of agents run: none of them may end in an error. */
export async function resetDatabase(bench: Bench, plan: ResetPlan) {
  const { sessions, promptsPerSession, resets } = plan
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: plan.database })
  const journal = createJournal(bench)
  const service = await site.start()
  const observer = observe(bench, site.databaseUrl)
  const agent = await createAgent(site)
  const all = sessions * promptsPerSession
  const clients = Array.from({ length: sessions }, (_, at) => client({ bench, site, journal, agent }, at, plan))
  const sent = Promise.all(clients)
  sent.catch(() => undefined)
  for (let round = 1; round <= resets; round++) {
    const due = Math.floor((round / (resets + 1)) * all)
    await eventually(async () => (await doneCount(observer)) >= due, {
      withinMs: 300_000,
      what: `${due} finished prompts`,
    })
    await endConnections(observer)
  }
  await sent
  await untilQuiet(observer, [])
  const text = `select state, count(*)::int as count from prompts group by state`
  const { rows } = await observer.pool.query<{ state: string; count: number }>(text)
  assert.deepEqual(rows, [{ state: 'done', count: all }], 'no prompt ends in an error of ours')
  const evidence = { observer, journal, target: site, upstream, readers: [], dataDir: site.dataDir, logs: site.logs() }
  const checked = await checkInvariants(evidence)
  assert.equal(await service.stop(), 0)
  return { ...checked, answers_503: journal.statuses.get(503) ?? 0 }
}

interface Place {
  readonly bench: Bench
  readonly site: Site
  readonly journal: Journal
  readonly agent: string
}

/** Sessions of an agent read its memories as their first run begins. */
async function createAgent(site: Site): Promise<string> {
  const body = { name: 'resets', model: 'scripted', system: 'Go.' }
  const made = await sendOnce(site, 'POST /v1/agents', { body })
  assert.ok(made.status < 300, made.text)
  return made.json<{ id: string }>().id
}

async function client({ bench, site, journal, agent }: Place, at: number, plan: ResetPlan): Promise<void> {
  const target = () => site
  const sessionId = await journal.session(target, `s${at}`, { agent })
  for (let prompt = 0; prompt < plan.promptsPerSession; prompt++) {
    const key = `s${at}-${prompt}`
    const text = prompt % 10 === 0 ? toolPrompt(key) : scriptedText(key, [{ text: `done ${key}`, delayMs: 50 }])
    await journal.prompt(target, { sessionId, key, text, by: 'message id' })
    bench.signal.throwIfAborted()
  }
}

async function doneCount(observer: Observer): Promise<number> {
  const text = `select count(*) as done from prompts where state not in ('waiting', 'running')`
  return (await observer.pool.query<{ done: number }>(text)).rows[0]?.done ?? 0
}

const endConnections = ({ pool }: Observer) =>
  pool.query(`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'switchyard%'`)

/** V1. */
export const resetCases: readonly FaultCase[] = [
  {
    id: 'V1',
    title: '2,000 prompts under 40 resets of all connections to the database; external',
    async run(bench) {
      const plan = { sessions: 100, promptsPerSession: 20, resets: 40, database: await bench.cluster.database() }
      return { rounds: plan.resets, numbers: await resetDatabase(bench, plan) }
    },
  },
]
