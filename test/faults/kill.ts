import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../support/service/eventually.ts'
import { type Checked, checkInvariants } from './checker.ts'
import type { Bench, FaultCase, Outcome } from './fault-case.ts'
import { createJournal } from './journal.ts'
import { startLoad, untilQuiet } from './load.ts'
import { type LeaseRow, type Observer, observe } from './observer.ts'
import { createSite, type Site } from './site.ts'
import { startUpstream } from './upstream.ts'

interface KillPlan {
  readonly kills: number
  readonly sessions: number
  readonly promptsPerSession: number
  readonly database: 'embedded' | (string & {})
}

interface KillResult extends Checked {
  readonly ready_ms_max: number
  readonly resumed_ms_max: number
  readonly resumes_measured: number
}

const limits = { resumeMs: 5_000 }

/**
 * F01: kills the only server at random moments, starting it again each time, while clients work; then checks that every
 * promise was kept. Rejects when sessions that ran were not resumed within 5 s of a start.
 */
export async function killAtRandom(bench: Bench, plan: KillPlan): Promise<KillResult> {
  const { random, log } = bench
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: plan.database, maxSessions: 8 })
  const journal = createJournal(bench)
  await site.start()
  const observer = observe(bench, site.databaseUrl)
  const load = startLoad(
    { bench, journal, target: () => site },
    { ...plan, pace: { delayMs: 350, chunkDelayMs: 10 }, gapMs: 1_500 },
  )
  const resumedMs: number[] = []
  const readyMs: number[] = []
  await eventually(async () => (await observer.runs()).length > 0, { what: 'the first run' })
  for (let kills = 0; kills < plan.kills; ) {
    await sleep(random.whole(200, 3_000))
    const cutOff = await observer.runs()
    await site.kill()
    kills++
    log(`kill ${kills} of ${plan.kills}, ${cutOff.length} runs cut off`)
    if (kills < plan.kills && random.chance() < 0.5) {
      const ready = await site.startAndKill(random.whole(200, 3_000))
      if (ready !== undefined) readyMs.push(ready)
      kills++
      log(`kill ${kills} of ${plan.kills}, ${ready === undefined ? 'before' : 'after'} it was ready`)
      await site.start()
    } else resumedMs.push(...(await restartMeasured(site, observer, cutOff)))
  }
  await load.sent
  await untilQuiet(observer, load.readers)
  const checked = await checkInvariants({
    observer,
    journal,
    target: site,
    upstream,
    readers: load.readers,
    dataDir: site.dataDir,
    logs: site.logs(),
  })
  for (const reader of load.readers) await reader.close()
  const slowest = Math.max(0, ...resumedMs)
  if (slowest > limits.resumeMs) throw new Error(`work resumed ${Math.round(slowest)} ms after a start, not within 5 s`)
  return {
    ...checked,
    ready_ms_max: Math.round(Math.max(0, ...readyMs)),
    resumed_ms_max: Math.round(slowest),
    resumes_measured: resumedMs.length,
  }
}

/** Starts the server; the milliseconds from ready until all runs that were interrupted have an owner again, if any were. */
async function restartMeasured(site: Site, observer: Observer, cutOff: readonly LeaseRow[]): Promise<number[]> {
  await site.start()
  const startedAt = performance.now()
  if (cutOff.length === 0) return []
  await eventually(() => observer.isTakenOver(cutOff), { withinMs: 30_000, what: 'the take-over' })
  return [performance.now() - startedAt]
}

const long = ({ times }: Bench) => ({ kills: 20 * times, sessions: 20, promptsPerSession: 10 * times })

async function killed(bench: Bench, database: KillPlan['database']): Promise<Outcome> {
  const plan = { ...long(bench), database }
  return { rounds: plan.kills, numbers: { ...(await killAtRandom(bench, plan)) } }
}

/** F01 on a database that survives, and on the one in the data folder, which ends with the service. */
export const killCases: readonly FaultCase[] = [
  {
    id: 'F01-external',
    title: 'kill -9 of the only server at random moments, under 20 sessions with prompts; external database',
    run: async bench => killed(bench, await bench.cluster.database()),
  },
  {
    id: 'F01-embedded',
    title: 'kill -9 of the only server at random moments, under 20 sessions with prompts; embedded database',
    run: bench => killed(bench, 'embedded'),
  },
]
