import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../support/service/eventually.ts'
import { checkInvariants } from './checker.ts'
import { hooked } from './crash-at-write.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { createJournal, type Journal } from './journal.ts'
import { untilQuiet } from './load.ts'
import { type LeaseRow, type Observer, observe } from './observer.ts'
import { follow, type Reader } from './readers.ts'
import { createSite, type Site } from './site.ts'
import { scriptedText, startUpstream, toolPrompt, type Upstream } from './upstream.ts'

const takeOverMs = 20_000

interface Pair {
  readonly bench: Bench
  readonly upstream: Upstream
  readonly one: Site
  readonly other: Site
  readonly journal: Journal
  readonly observer: Observer
}

/** Two replicas of one service, not started: one database, one folder of workspaces. */
async function createPair(bench: Bench): Promise<Pair> {
  const upstream = await startUpstream(bench)
  const shared = {
    upstream,
    database: await bench.cluster.database(),
    dataDir: join(bench.folder, 'data'),
    maxSessions: 40,
  }
  const one = await createSite(bench, shared)
  const other = await createSite(bench, shared)
  return { bench, upstream, one, other, journal: createJournal(bench), observer: observe(bench, shared.database) }
}

/** F04: 40 sessions run on two replicas, one is killed; the other one takes over, and its readers miss nothing. */
async function killOneOfTwo(bench: Bench) {
  const { upstream, one, other, journal, observer } = await createPair(bench)
  let isKilled = false
  const target = () => (isKilled ? other : one)
  const readers: Reader[] = []
  const startSessions = async (from: number, to: number) => {
    for (let at = from; at < to; at++) {
      const sessionId = await journal.session(target, `s${at}`)
      readers.push(follow(bench, target, sessionId))
      for (const key of [`s${at}-0`, `s${at}-1`]) {
        await journal.prompt(target, { sessionId, key, text: toolPrompt(key, { delayMs: 2_500 }), by: 'message id' })
      }
    }
  }
  await one.start()
  await startSessions(0, 20)
  const [first] = await eventually(async () => nonEmpty(await observer.runs()))
  await other.start()
  await startSessions(20, 40)
  const running = await eventually(async () => {
    const runs = await observer.runs()
    return runs.length >= 38 && runs
  })
  const orphaned = running.filter(({ lease_owner }) => lease_owner === first?.lease_owner)
  bench.log(`${running.length} sessions run, ${orphaned.length} of them where the kill strikes`)
  const killedAt = performance.now()
  await one.kill()
  isKilled = true
  await eventually(() => observer.isTakenOver(orphaned), { withinMs: 60_000, what: 'the take-over' })
  const takenOverMs = Math.round(performance.now() - killedAt)
  await untilQuiet(observer, readers)
  const evidence = {
    observer,
    journal,
    upstream,
    readers,
    dataDir: one.dataDir,
    logs: `${one.logs()}\n${other.logs()}`,
  }
  const checked = await checkInvariants({ ...evidence, target: other })
  for (const reader of readers) await reader.close()
  assert.ok(takenOverMs <= takeOverMs, `taken over after ${takenOverMs} ms, not within 20 s`)
  return { rounds: 1, numbers: { orphaned: orphaned.length, taken_over_ms: takenOverMs, ...checked } }
}

const nonEmpty = <T>(items: readonly T[]): readonly T[] | false => items.length > 0 && items

interface ZombieRound {
  readonly name: string
  readonly text: string
  /** Pauses the owner by itself at a write; absent: it is paused from outside once `isMidStep`. */
  readonly plan?: object
  readonly isMidStep?: (pair: Pair, key: string, sessionId: string) => Promise<boolean> | boolean
}

const slowTool = (key: string) =>
  scriptedText(key, [
    { tool_calls: [{ name: 'bash', input: { command: `echo ${key} >> ran.txt; sleep 2` } }] },
    { text: `done ${key}` },
  ])

const zombieRounds: readonly ZombieRound[] = [
  {
    name: 'model-call',
    text: toolPrompt('model-call', { delayMs: 1_000 }),
    isMidStep: ({ upstream }, key) => upstream.record().some(call => call.key === key),
  },
  {
    name: 'tool-call',
    text: slowTool('tool-call'),
    isMidStep: async ({ observer }, _key, sessionId) => {
      const text = `select from session_events where session_id = $1 and type = 'agent.tool_use'`
      return (await observer.pool.query(text, [sessionId])).rowCount === 1
    },
  },
  {
    name: 'before-storing-an-answer',
    text: toolPrompt('before-storing-an-answer'),
    plan: { write: 6, moment: 'before', signal: 'SIGSTOP' },
  },
  {
    name: 'before-the-end',
    text: toolPrompt('before-the-end'),
    plan: { words: 'from end_run(', signal: 'SIGSTOP' },
  },
]

/** F05: an owner is paused in mid-step, another replica takes over, the owner wakes up: it must not write any more. */
async function wakeZombies(bench: Bench) {
  const takenOver: Record<string, number> = {}
  for (const [at, round] of zombieRounds.entries()) {
    const pair = await createPair({ ...bench, folder: join(bench.folder, String(at)) })
    takenOver[`${round.name}_taken_over_ms`] = await wakeOneZombie(pair, round)
    bench.log(`${round.name}: taken over, nothing written under the old fence`)
  }
  return { rounds: zombieRounds.length, numbers: takenOver }
}

async function wakeOneZombie(pair: Pair, { name, text, plan, isMidStep }: ZombieRound): Promise<number> {
  const { bench, upstream, one, other, journal, observer } = pair
  const owner = await one.start(plan ? { env: hooked(plan) } : {})
  bench.defer(() => signalled(owner.pid, 'SIGCONT'))
  const sessionId = await journal.session(() => one, name)
  const reader = follow(bench, () => other, sessionId)
  await journal.prompt(() => one, { sessionId, key: name, text, by: 'message id' })
  if (isMidStep) {
    await eventually(() => isMidStep(pair, name, sessionId), { what: 'the step' })
    signalled(owner.pid, 'SIGSTOP')
  } else await eventually(() => isPaused(owner.pid), { what: 'the pause' })
  const pausedAt = performance.now()
  const before = await observer.runs()
  const written = () => countOf(observer, before)
  const writtenBefore = await written()
  await other.start()
  await eventually(() => observer.isTakenOver(before), { withinMs: 60_000, what: 'the take-over' })
  const takenOverMs = Math.round(performance.now() - pausedAt)
  signalled(owner.pid, 'SIGCONT')
  await eventually(() => one.logs().includes('has another owner or was deleted'), { what: 'the end of the zombie' })
  await untilQuiet(observer, [reader])
  // Time for a write that should not come.
  await sleep(500)
  assert.equal(await written(), writtenBefore, 'rows were written under the old fence')
  const logs = `${one.logs()}\n${other.logs()}`
  await checkInvariants({ observer, journal, target: other, upstream, readers: [reader], dataDir: one.dataDir, logs })
  await reader.close()
  assert.equal(await owner.stop(), 0, 'the zombie ends in order')
  await other.kill()
  assert.ok(takenOverMs <= takeOverMs, `taken over after ${takenOverMs} ms, not within 20 s`)
  return takenOverMs
}

/** Longer than an owner works without a renewal, shorter than its lease. */
const lapseMs = 11_000

/** V6: an owner wakes up after its own clock has ended its lease, before anybody took over: its tool call gets no result of it. */
async function wakeLapsedOwner(bench: Bench) {
  const { upstream, one, journal, observer } = await createPair(bench)
  const owner = await one.start()
  bench.defer(() => signalled(owner.pid, 'SIGCONT'))
  const key = 'lapsed'
  const sessionId = await journal.session(() => one, key)
  const reader = follow(bench, () => one, sessionId)
  await journal.prompt(() => one, { sessionId, key, text: slowTool(key), by: 'message id' })
  const ran = join(one.dataDir, 'workspaces', sessionId, 'ran.txt')
  await eventually(() => existsSync(ran), { what: 'the tool' })
  const before = await observer.runs()
  const writtenBefore = await countOf(observer, before)
  signalled(owner.pid, 'SIGSTOP')
  await sleep(lapseMs)
  signalled(owner.pid, 'SIGCONT')
  await untilQuiet(observer, [reader])
  assert.equal(await countOf(observer, before), writtenBefore, 'rows were written under the lapsed lease')
  const { rows } = await observer.pool.query<{ text: string }>(
    `select payload #>> '{content,0,text}' as text from session_events where session_id = $1 and type = 'agent.tool_result'`,
    [sessionId],
  )
  assert.match(rows.map(({ text }) => text).join(), /^interrupted; outcome unknown/)
  const evidence = {
    observer,
    journal,
    target: one,
    upstream,
    readers: [reader],
    dataDir: one.dataDir,
    logs: one.logs(),
  }
  const checked = await checkInvariants(evidence)
  await reader.close()
  assert.equal(await owner.stop(), 0)
  return { rounds: 1, numbers: { ...checked } }
}

/** Rows of the session that carry the fence of its run. */
async function countOf(observer: Observer, [run]: readonly LeaseRow[]): Promise<number> {
  const text = 'select count(*) as written from session_events where session_id = $1 and fence = $2'
  const { rows } = await observer.pool.query<{ written: number }>(text, [run?.id, run?.fence])
  return rows[0]?.written ?? 0
}

function signalled(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}

async function isPaused(pid: number): Promise<boolean> {
  const { readFile } = await import('node:fs/promises')
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  return / T /.test(stat.slice(stat.lastIndexOf(')'), stat.lastIndexOf(')') + 4))
}

/** F04, F05, V6. */
export const replicaCases: readonly FaultCase[] = [
  { id: 'F04', title: '2 replicas, 40 running sessions, kill -9 of one; external database', run: killOneOfTwo },
  { id: 'F05', title: 'an owner paused in mid-step, taken over, woken; external database', run: wakeZombies },
  {
    id: 'V6',
    title: 'an owner paused until its own clock ends its lease, woken; external database',
    run: wakeLapsedOwner,
  },
]
