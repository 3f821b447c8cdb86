import assert from 'node:assert/strict'
import { join } from 'node:path'
import { eventually } from '../support/service/eventually.ts'
import type { EventTail } from '../support/sessions/event-tail.ts'
import { checkInvariants } from './checker.ts'
import { hooked } from './crash-at-write.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { createJournal, type Journal } from './journal.ts'
import { untilQuiet } from './load.ts'
import { type Observer, observe } from './observer.ts'
import { tailEvents } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { startUpstream, toolPrompt } from './upstream.ts'

/** The poll comes every 2 s; the rest is for a busy machine. */
const deliveryMs = 2_500
/** With notifications an event is there at once; far below the poll, so that it shows which of both brought it. */
const hintedMs = 1_000

const listeners = `
  select pid from pg_stat_activity where datname = current_database() and application_name = 'switchyard-listen'`

interface Stage {
  readonly writer: Site
  readonly reader: Site
  readonly journal: Journal
  readonly observer: Observer
  readonly sessionId: string
}

/** F22: a reader on a replica that receives nothing, and on one whose listening connection is cut. */
async function loseHints(bench: Bench) {
  const upstream = await startUpstream(bench)
  const shared = { upstream, database: await bench.cluster.database(), dataDir: join(bench.folder, 'data') }
  const writer = await createSite(bench, shared)
  const reader = await createSite(bench, { ...shared, env: { SWITCHYARD_ROLE: 'api' } })
  const journal = createJournal(bench)
  const observer = observe(bench, shared.database)
  await writer.start()
  const sessionId = await journal.session(() => writer, 'watched')
  const stage: Stage = { writer, reader, journal, observer, sessionId }

  await reader.start({ env: hooked({ deaf: true }) })
  const deaf: number[] = []
  for (let round = 0; round < 5; round++) deaf.push(await slowestDelivery(stage, `deaf-${round}`))
  await reader.kill()

  await reader.start()
  const hinted = await slowestDelivery(stage, 'hinted')
  const tail = await tailEvents(reader, sessionId)
  const { rowCount } = await observer.pool.query(`select pg_terminate_backend(pid) from (${listeners}) as listening`)
  assert.equal(rowCount, 2, 'both replicas were listening')
  const cutOff = await slowestDelivery(stage, 'cut', tail)
  const isBack = async () => (await observer.pool.query(listeners)).rowCount === 2
  await eventually(isBack, { what: 'the listening connections' })
  const healed = await slowestDelivery(stage, 'healed', tail)
  tail.close()
  await untilQuiet(observer, [])
  const logs = `${writer.logs()}\n${reader.logs()}`
  await checkInvariants({ observer, journal, target: writer, upstream, readers: [], dataDir: writer.dataDir, logs })
  const worst = Math.max(...deaf, cutOff)
  assert.ok(worst <= deliveryMs, `an event took ${worst} ms without notifications, not 2 s`)
  assert.ok(Math.max(hinted, healed) <= hintedMs, `an event took ${Math.max(hinted, healed)} ms with notifications`)
  return {
    rounds: deaf.length + 3,
    numbers: { deaf_ms_max: Math.max(...deaf), cut_ms_max: cutOff, hinted_ms_max: hinted, healed_ms_max: healed },
  }
}

/** Runs one prompt on the writer; the most that an event of it took from its storing to a reader on the other replica. */
async function slowestDelivery(
  { writer, reader, journal, sessionId }: Stage,
  key: string,
  given?: EventTail,
): Promise<number> {
  const tail = given ?? (await tailEvents(reader, sessionId, { query: 'from=tail' }))
  const from = tail.events.length
  const arrivals = watchArrivals(tail)
  await journal.prompt(() => writer, { sessionId, key, text: toolPrompt(key), by: 'message id' })
  await eventually(() => tail.events.slice(from).some(({ type }) => type === 'session.status_idle'), {
    withinMs: 30_000,
  })
  arrivals.stop()
  if (!given) tail.close()
  const delays = tail.events
    .slice(from)
    .map(({ seq, processed_at }) => (arrivals.at.get(seq) ?? 0) - Date.parse(processed_at))
  return Math.round(Math.max(...delays))
}

/** Notes when each event was first seen, to some milliseconds. */
function watchArrivals(tail: EventTail) {
  const at = new Map<number, number>()
  const timer = setInterval(() => {
    for (const { seq } of tail.events) if (!at.has(seq)) at.set(seq, Date.now())
  }, 5)
  return {
    at,
    stop: () => {
      for (const { seq } of tail.events) if (!at.has(seq)) at.set(seq, Date.now())
      clearInterval(timer)
    },
  }
}

/** F22. */
export const hintCases: readonly FaultCase[] = [
  { id: 'F22', title: 'notifications suppressed, listening connections cut; external database', run: loseHints },
]
