import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionEvent } from '../../src/contract/events.ts'
import { eventually } from '../support/service/eventually.ts'
import type { Service } from '../support/service/service.ts'
import { checkInvariants, readLog } from './checker.ts'
import type { Bench } from './fault-case.ts'
import { createJournal, type Journal } from './journal.ts'
import { untilQuiet } from './load.ts'
import { type Observer, observe } from './observer.ts'
import { follow, type Reader } from './readers.ts'
import { createSite, type Site } from './site.ts'
import { transcriptOf } from './transcript.ts'
import { startUpstream, toolPrompt, type Upstream } from './upstream.ts'

interface Stage {
  readonly bench: Bench
  readonly site: Site
  readonly journal: Journal
  readonly observer: Observer
  readonly upstream: Upstream
  readonly scene: Scene
}

/** The variables that load the hook into the service's process. */
export const hooked = (plan: object, record?: string) => ({
  NODE_OPTIONS: `--import ${join(import.meta.dirname, 'crash-hook.ts')}`,
  FAULT_PLAN: JSON.stringify(plan),
  ...(record !== undefined && { FAULT_RECORD: record }),
})

/** What a crash strikes. By default one prompt with a tool call. */
export interface Scene {
  /** Parameters of the model. */
  readonly model?: object
  /** A prompt that was answered in the session before. */
  readonly before?: (key: string) => string
  readonly prompt?: (key: string) => string
  /** Fields of the sessions. */
  readonly session?: (site: Site) => Promise<object>
  /** What others do while the prompt is in work, until the signal aborts. */
  readonly beside?: (site: Site, sessionId: string, signal: AbortSignal) => Promise<void>
  /** What happens between the crash and the next start, while the prompt has not ended. */
  readonly between?: (site: Site, sessionId: string) => Promise<void>
  /** Rejects what a log must not contain. */
  readonly check?: (log: readonly SessionEvent[], key: string) => void
}

/** F03: a crash before and after each write that one prompt makes; every round must end in the same transcript. */
export async function crashAtEveryWrite(bench: Bench, scene: Scene = {}) {
  const { model = {} } = scene
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: await bench.cluster.database(), model })
  const journal = createJournal(bench)
  const stage: Stage = { bench, site, journal, observer: observe(bench, site.databaseUrl), upstream, scene }
  const [first = ''] = await sessionsFor(stage, ['whole'])
  const record = join(bench.folder, 'writes.txt')
  const whole = await runRound(stage, { name: 'whole', sessionId: first, plan: {}, record })
  const writes = readFileSync(record, 'utf8').trim().split('\n')
  bench.log(`writes of one prompt:\n    ${writes.join('\n    ')}`)

  const plans = writes.flatMap((_, at) => [
    { write: at + 1, moment: 'before' },
    { write: at + 1, moment: 'after' },
  ])
  const sessionIds = await sessionsFor(stage, plans.map(nameOf))
  let struck = 0
  for (const [at, plan] of plans.entries()) {
    const round = await runRound(stage, { name: nameOf(plan), sessionId: sessionIds[at] ?? '', plan })
    assert.deepEqual(round.transcript, whole.transcript, `the transcript of the round ${nameOf(plan)}`)
    if (round.wasStruck) struck++
    bench.log(`${nameOf(plan)}: ${round.wasStruck ? 'crashed' : 'not reached'}, same transcript`)
  }
  // The last write may come after the check that ends a round; every other crash must really have happened.
  assert.ok(struck >= plans.length - 2, `only ${struck} of ${plans.length} crashes happened`)
  return { rounds: plans.length, numbers: { writes: writes.length, crashes: struck } }
}

const nameOf = ({ write, moment }: { write: number; moment: string }) => `${moment}-write-${write}`

/** One session a round, made by a service without a fault. */
async function sessionsFor(stage: Stage, names: readonly string[]): Promise<string[]> {
  const { site, journal, observer, scene } = stage
  const { before } = scene
  await site.start()
  const fields = await scene.session?.(site)
  const ids: string[] = []
  for (const name of names) {
    const sessionId = await journal.session(() => site, name, fields)
    ids.push(sessionId)
    const key = `before-${keyOf(name)}`
    if (before) await journal.prompt(() => site, { sessionId, key, text: before(key), by: 'message id' })
  }
  if (before) await untilQuiet(observer, [])
  await site.kill()
  return ids
}

/** Of the prompt of a round. */
const keyOf = (name: string): string => `p-${name}`

interface Round {
  readonly name: string
  readonly sessionId: string
  readonly plan: { readonly write?: number; readonly moment?: string }
  readonly record?: string
}

/** Sends one prompt to a service with the fault, and waits until a service without it has finished the work. */
async function runRound(stage: Stage, { name, sessionId, plan, record }: Round) {
  const { bench, site, journal, observer, scene } = stage
  const target = () => site
  const hurt = await site.start({ env: hooked(plan, record) })
  const reader = follow(bench, target, sessionId)
  const key = keyOf(name)
  const over = new AbortController()
  const others = scene.beside?.(site, sessionId, AbortSignal.any([bench.signal, over.signal]))
  const text = (scene.prompt ?? toolPrompt)(key)
  const sent = journal.prompt(target, { sessionId, key, text, by: 'message id' })
  // Awaited later; until then a failure must not end the process.
  for (const work of [sent, others]) work?.catch(() => undefined)
  const wasStruck = await struckOrQuiet(hurt, observer, { sessionId, key })
  if (wasStruck && (await isOpen(observer, { sessionId, key }))) await scene.between?.(site, sessionId)
  if (plan.write !== undefined) {
    // A process that was not struck yet would be by its next write.
    await site.kill()
    await site.start()
  }
  await sent
  await untilQuiet(observer, [reader])
  over.abort()
  await others
  const log = await readLog(site, sessionId)
  scene.check?.(log, key)
  await checkRound(stage, reader)
  await site.kill()
  return { wasStruck, transcript: transcriptOf(log).map(line => line.replaceAll(key, 'KEY')) }
}

/** False once the prompt has ended, and while it was never stored. */
async function isOpen(observer: Observer, { sessionId, key }: { sessionId: string; key: string }): Promise<boolean> {
  const text = 'select from prompts where session_id = $1 and message_id = $2 and ended_at is null'
  return (await observer.pool.query(text, [sessionId, key])).rowCount === 1
}

/** Time for the writes that come after the lease was given back. */
const lastWritesMs = 300

/** True once the process has exited; false when its work is done and it stays alive. */
async function struckOrQuiet(
  { pid }: Service,
  observer: Observer,
  prompt: { sessionId: string; key: string },
): Promise<boolean> {
  const finished = `
    select from sessions s join prompts p on p.session_id = s.id
    where s.id = $1 and s.lease_owner is null and p.message_id = $2 and p.ended_at is not null`
  const { sessionId, key } = prompt
  const isDone = async () => !isAlive(pid) || (await observer.pool.query(finished, [sessionId, key])).rowCount === 1
  await eventually(isDone, { withinMs: 30_000, what: 'the crash or the end' })
  if (isAlive(pid)) await sleep(lastWritesMs)
  return !isAlive(pid)
}

/** A killed child is a zombie until it is waited for, which Node does at once. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function checkRound({ observer, journal, site, upstream }: Stage, reader: Reader): Promise<void> {
  const held = 'select from sessions where lease_until > clock_timestamp()'
  await eventually(async () => (await observer.pool.query(held)).rowCount === 0, { what: 'the release of the lease' })
  const evidence = {
    observer,
    journal,
    target: site,
    upstream,
    readers: [reader],
    dataDir: site.dataDir,
    logs: site.logs(),
  }
  await checkInvariants(evidence)
  await reader.close()
}
