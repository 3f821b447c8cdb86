import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../support/service/eventually.ts'
import { checkInvariants, readLog } from './checker.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { createJournal } from './journal.ts'
import { startLoad, untilQuiet } from './load.ts'
import { observe } from './observer.ts'
import { sendOnce, tailEvents } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { startUpstream } from './upstream.ts'

const reconnects = 1_000
const parallel = 20

/** What readers of one session have seen, by number; all must have seen the same. */
type Seen = Map<number, string>

/** F21: readers come and go at random positions while the logs grow; together they saw the logs and nothing else. */
async function reconnectAtRandom(bench: Bench) {
  const { random } = bench
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: await bench.cluster.database() })
  const journal = createJournal(bench)
  await site.start()
  const observer = observe(bench, site.databaseUrl)
  const plan = { sessions: 40, promptsPerSession: 5, pace: { delayMs: 100 }, gapMs: 2_000 }
  const load = startLoad({ bench, journal, target: () => site }, plan)
  await eventually(() => journal.prompts.length > 10)
  const seen = new Map<string, Seen>()
  let left = reconnects
  const visitor = async () => {
    while (left-- > 0) {
      const { id } = random.pick(journal.sessions)
      const known = seen.get(id) ?? new Map<number, string>()
      seen.set(id, known)
      await visit(
        { site, id, known, after: random.whole(0, known.size), byHeader: random.chance() < 0.5 },
        random.whole(0, 200),
      )
    }
  }
  await Promise.all(Array.from({ length: parallel }, visitor))
  await load.sent
  await untilQuiet(observer, load.readers)
  await mustBeUnion(site, seen)
  await badPositions(site, journal.sessions[0]?.id ?? '')
  const { readers } = load
  const logs = site.logs()
  const checked = await checkInvariants({
    observer,
    journal,
    target: site,
    upstream,
    readers,
    dataDir: site.dataDir,
    logs,
  })
  for (const reader of readers) await reader.close()
  const events = [...seen.values()].reduce((sum, { size }) => sum + size, 0)
  return { rounds: reconnects, numbers: { sessions: plan.sessions, events, ...checked } }
}

interface Visit {
  readonly site: Site
  readonly id: string
  readonly known: Seen
  readonly after: number
  readonly byHeader: boolean
}

/** Reads from a position for a moment; what comes must follow it without a gap, and be what others saw. */
async function visit({ site, id, known, after, byHeader }: Visit, forMs: number): Promise<void> {
  const place = byHeader ? { headers: { 'last-event-id': String(after) } } : { query: `after=${after}` }
  const tail = await tailEvents(site, id, place)
  await sleep(forMs)
  tail.close()
  for (const [at, event] of tail.events.entries()) {
    const text = JSON.stringify(event)
    assert.equal(event.seq, after + at + 1, `the number of an event of ${id} read after ${after}`)
    assert.equal(known.get(event.seq) ?? text, text, `event ${event.seq} of ${id} at two readers`)
    known.set(event.seq, text)
  }
}

/** What was not seen by then is read from the last position that was, so that the union is complete. */
async function mustBeUnion(site: Site, seen: ReadonlyMap<string, Seen>): Promise<void> {
  for (const [id, known] of seen) {
    const log = await readLog(site, id)
    if (known.size < log.length) {
      const tail = await tailEvents(site, id, { query: `after=${known.size}` })
      await tail.event(({ seq }) => seq === log.length)
      tail.close()
      for (const event of tail.events) known.set(event.seq, JSON.stringify(event))
    }
    const union = [...known].sort(([a], [b]) => a - b).map(([, text]) => text)
    assert.deepEqual(
      union,
      log.map(event => JSON.stringify(event)),
      `the union of the readers of ${id}`,
    )
  }
}

/** Bad positions are 400, a foreign session 404, a position past the end waits. */
async function badPositions(site: Site, id: string): Promise<void> {
  const stream = (sessionId: string) => `GET /v1/sessions/${sessionId}/events/stream`
  for (const bad of ['abc', '-1', '1.5', '1e3', '99999999999999999999']) {
    assert.equal((await sendOnce(site, `${stream(id)}?after=${bad}`)).status, 400, `after=${bad}`)
    const headers = { 'last-event-id': bad }
    assert.equal((await sendOnce(site, stream(id), { headers })).status, 400, `Last-Event-ID: ${bad}`)
  }
  assert.equal((await sendOnce(site, stream('ses_of_nobody'))).status, 404)
  const future = await tailEvents(site, id, { query: 'after=100000' })
  await sleep(300)
  assert.deepEqual(future.events, [], 'nothing comes from past the end')
  future.close()
}

/** F21. */
export const reconnectCases: readonly FaultCase[] = [
  { id: 'F21', title: `${reconnects} reconnects at random positions over 40 running sessions`, run: reconnectAtRandom },
]
