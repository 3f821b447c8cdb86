import assert from 'node:assert/strict'
import { createPool } from '../../src/server/db/connect.ts'
import { pendingMigrations } from '../../src/server/db/migrate.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { sendOnce } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { startUpstream } from './upstream.ts'

/** F12: a second server on a data folder is rejected in time; once the first is dead, the next one starts. */
async function startTwice(bench: Bench) {
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: 'embedded' })
  const second = await createSite(bench, { upstream, database: 'embedded', dataDir: site.dataDir })
  const { pid } = await site.start()
  const refusals: number[] = []
  for (let round = 0; round < 3; round++) {
    const startedAt = performance.now()
    await assert.rejects(second.start(), ({ message }: Error) => {
      assert.match(message, new RegExp(`already running at http://\\S+ \\(process ${pid}\\)`))
      assert.doesNotMatch(message, /^\s+at .+:\d+:\d+/m, 'a plain message without a stack')
      return true
    })
    refusals.push(Math.round(performance.now() - startedAt))
  }
  await mustWork(site)
  await site.kill()
  await second.start()
  await mustWork(second)
  await second.kill()
  const rejectedMs = Math.max(...refusals)
  assert.ok(rejectedMs <= 2_000, `refused after ${rejectedMs} ms, not within 2 s`)
  return { rounds: refusals.length + 1, numbers: { refused_ms_max: rejectedMs } }
}

const firstStarts = 10

/** F13: kill -9 at random points of the first start; the next start must succeed, with the whole schema. */
async function killFirstStarts(bench: Bench) {
  const { random, log } = bench
  const upstream = await startUpstream(bench)
  let beforeReady = 0
  for (let round = 1; round <= firstStarts; round++) {
    const site = await createSite(bench, { upstream, database: 'embedded' })
    const afterMs = random.whole(100, 3_000)
    const isReady = (await site.startAndKill(afterMs)) !== undefined
    if (!isReady) beforeReady++
    log(`first start ${round} killed after ${afterMs} ms, ${isReady ? 'ready' : 'not ready'}`)
    await site.start()
    await mustWork(site)
    await mustHaveSchema(site)
    await site.kill()
  }
  return { rounds: firstStarts, numbers: { killed_before_ready: beforeReady } }
}

async function mustWork(site: Site): Promise<void> {
  const answer = await sendOnce(site, 'POST /session', { body: {} })
  assert.equal(answer.status, 200, answer.text)
}

async function mustHaveSchema({ databaseUrl }: Site): Promise<void> {
  const pool = createPool({ url: databaseUrl, max: 1, onLost: () => undefined })
  const pending = await pendingMigrations(pool).finally(() => pool.end())
  assert.deepEqual(pending, [], 'every migration is in')
}

/** F12, F13. */
export const folderCases: readonly FaultCase[] = [
  { id: 'F12', title: 'a second server on one data folder; the lock of a dead one', run: startTwice },
  { id: 'F13', title: `kill -9 at ${firstStarts} random points of the first start`, run: killFirstStarts },
]
