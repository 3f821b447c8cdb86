import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkInvariants } from './checker.ts'
import { startCluster } from './cluster.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { createJournal } from './journal.ts'
import { startLoad, untilQuiet } from './load.ts'
import { observe } from './observer.ts'
import { createSite } from './site.ts'
import { startUpstream } from './upstream.ts'

const outages = 8

/** F08, short: the database goes away, in order or by kill -9, and comes back, while clients work. */
async function takeDatabaseAway(bench: Bench) {
  const { random, log } = bench
  const cluster = await startCluster(join(bench.folder, 'cluster'))
  bench.defer(() => cluster.stop())
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: await cluster.database() })
  const journal = createJournal(bench)
  const service = await site.start()
  const observer = observe(bench, site.databaseUrl)
  const plan = { sessions: 15, promptsPerSession: 12, pace: { delayMs: 200, chunkDelayMs: 10 }, gapMs: 4_000 }
  const load = startLoad({ bench, journal, target: () => site }, plan)
  let downMs = 0
  for (let round = 1; round <= outages; round++) {
    await sleep(random.whole(1_000, 3_000))
    const how = random.pick(['clean', 'kill'] as const)
    const forMs = random.whole(0, 5_000)
    log(`outage ${round} of ${outages}: ${how}, ${forMs} ms`)
    await cluster.stop(how)
    await sleep(forMs)
    await cluster.start()
    downMs += forMs
  }
  await load.sent
  await untilQuiet(observer, load.readers)
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
  const wrong = journal.rejections.filter(
    ({ status, headers }) => status !== 503 || headers['retry-after'] === undefined,
  )
  assert.deepEqual(wrong, [], 'every refusal is 503 with Retry-After')
  assert.equal(journal.statuses.get(0) ?? 0, 0, 'no request stays without an answer')
  assert.equal(await service.stop(), 0, 'the same process served all the time, and ends in order')
  const refused = journal.statuses.get(503) ?? 0
  return { rounds: outages, numbers: { down_ms: downMs, answers_503: refused, ...checked } }
}

/** F08. */
export const databaseCases: readonly FaultCase[] = [
  {
    id: 'F08',
    title: `the database away for 0 to 5 s, ${outages} times, in order or by kill -9 (short form); external`,
    run: takeDatabaseAway,
  },
]
