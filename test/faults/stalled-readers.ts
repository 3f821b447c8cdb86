import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { percentile } from '../../bench/statistics.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { sseReader } from '../../src/contract/sse.ts'
import { sendHintsBy } from '../../src/server/db/hints.ts'
import { eventStore, withId } from '../../src/server/sessions/log/event-store.ts'
import { eventually } from '../support/service/eventually.ts'
import { open } from '../support/service/send.ts'
import { fillLog, openStalled, type WatchedProcess, watchProcess } from '../support/sessions/stalled-readers.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { observe } from './observer.ts'
import { sendOnce } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { startUpstream } from './upstream.ts'

const stalledReaders = 200
/** 100 MB of events past each. */
const log = { count: 1_000, eventBytes: 100_000 }
const healthyReaders = 5
const phaseS = 40
const eventsPerSecond = 20
/** Above the most without stalled readers. */
const maxMoreMb = 64
const cutWithinS = 35
const slower = 1.2
/** Below this, a difference is noise of the machine. */
const noiseMs = 5

interface Stage {
  readonly site: Site
  readonly pool: Pool
  readonly service: WatchedProcess
  readonly sessionId: string
  readonly healthy: readonly HealthyReader[]
}

/** Receives each event once. */
interface HealthyReader {
  /** Resolves when the event of that number comes. */
  arrival(seq: number): Promise<void>
}

interface Kind {
  /** The stream that the stalled readers ask for. */
  readonly path: (sessionId: string) => string
  /** Adds to the log beside them: a stream without replay has nothing to send otherwise. */
  readonly isLive: boolean
}

/** Readers that never read cost a bounded amount of memory, are disconnected, and do not slow others down. */
async function stallReaders(bench: Bench, kind: Kind) {
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: await bench.cluster.database() })
  const { pid } = await site.start()
  const { pool } = observe(bench, site.databaseUrl)
  // What is written here is that of another replica.
  sendHintsBy(pool, (channel, payload) => {
    pool.query('select pg_notify($1, $2)', [channel, payload]).catch(() => undefined)
  })
  const sessionId = await newSession(site)
  const healthy = await Promise.all(Array.from({ length: healthyReaders }, () => readHealthily(bench, site, sessionId)))
  const service = await watchProcess(pid, site.url)
  bench.defer(() => service.stop())
  const stage = { site, pool, service, sessionId, healthy }
  await deliveries(stage)
  service.maxFromNow()
  const quietMs = percentile(await deliveries(stage), 0.99)
  const quietMb = service.maxMb
  const { maxMb, cutS, p99Ms } = await stalledPhase(stage, kind)
  const numbers = {
    quiet_mb: rounded(quietMb),
    more_mb: rounded(maxMb - quietMb),
    cut_s: rounded(cutS),
    quiet_p99_ms: rounded(quietMs),
    p99_ms: rounded(p99Ms),
  }
  bench.log(JSON.stringify(numbers))
  assert.ok(numbers.more_mb <= maxMoreMb, `memory: ${JSON.stringify(numbers)}`)
  assert.ok(numbers.cut_s <= cutWithinS, `time to the cut: ${JSON.stringify(numbers)}`)
  const maxMs = Math.max(quietMs * slower, quietMs + noiseMs)
  assert.ok(numbers.p99_ms <= maxMs, `healthy readers: ${JSON.stringify(numbers)}`)
  return { rounds: 1, numbers }
}

async function readHealthily(bench: Bench, site: Site, sessionId: string): Promise<HealthyReader> {
  const answer = await open(site, `GET /v1/sessions/${sessionId}/events/stream?from=tail`)
  bench.defer(() => answer.destroy())
  const read = sseReader()
  let last = 0
  let wake: () => void = () => undefined
  answer.setEncoding('utf8').on('data', (text: string) => {
    for (const { id } of read(text)) if (id !== undefined) last = Number(id)
    wake()
  })
  answer.on('error', () => undefined)
  return {
    async arrival(seq) {
      while (last < seq) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    },
  }
}

async function newSession(site: Site): Promise<string> {
  const made = await sendOnce(site, 'POST /session', { body: {} })
  return made.json<Session>().id
}

async function stalledPhase(stage: Stage, { path, isLive }: Kind) {
  const { site, pool, service } = stage
  const filled = await newSession(site)
  await fillLog(pool, filled, log)
  const made = await sendOnce(site, 'POST /api/keys', { body: { label: 'stalled', role: 'admin' } })
  const target = { url: site.url, key: made.json<{ key: string }>().key }
  await service.sampled()
  const { sockets: socketsBefore } = service
  const fewLeft = socketsBefore + stalledReaders / 20
  service.maxFromNow()
  const sockets = await Promise.all(Array.from({ length: stalledReaders }, () => openStalled(target, path(filled))))
  await eventually(() => service.sockets >= socketsBefore + stalledReaders, { what: 'the stalled readers' })
  if (isLive) await announce(pool, filled)
  const behindAt = performance.now()
  let cutS = Number.POSITIVE_INFINITY
  const cutting = eventually(() => service.sockets <= fewLeft, {
    withinMs: phaseS * 1_000,
    what: 'the cut of all stalled readers',
  }).then(
    () => {
      cutS = (performance.now() - behindAt) / 1_000
    },
    () => undefined,
  )
  const p99Ms = percentile(await deliveries(stage), 0.99)
  await cutting
  const { maxMb } = service
  for (const socket of sockets) socket.destroy()
  await eventually(() => service.sockets < fewLeft, { what: 'the end of the stalled readers' })
  return { maxMb, cutS, p99Ms }
}

/** 100 MB of news for those who follow every session: in the log before the hint of the last one comes. */
async function announce(pool: Pool, sessionId: string): Promise<void> {
  const events = eventStore(pool)
  await events.append(sessionId, [withId({ type: 'session.status_running', prompt_id: 'msg_x', run_id: 'run_x' })])
  await fillLog(pool, sessionId, log)
  await events.append(sessionId, [withId({ type: 'agent.message', content: [] })])
}

/** Writes events as another replica does; how long each took to each healthy reader, in milliseconds. */
async function deliveries({ pool, sessionId, healthy }: Stage): Promise<number[]> {
  const events = eventStore(pool)
  const times: number[] = []
  const startedAt = performance.now()
  for (let at = 0; at < phaseS * eventsPerSecond; at++) {
    await sleep(Math.max(0, startedAt + (at * 1_000) / eventsPerSecond - performance.now()))
    const sentAt = performance.now()
    const [event] = (await events.append(sessionId, [withId({ type: 'agent.message', content: [] })])) ?? []
    assert.ok(event)
    await Promise.all(
      healthy.map(async reader => {
        await reader.arrival(event.seq)
        times.push(performance.now() - sentAt)
      }),
    )
  }
  return times
}

const rounded = (value: number): number => Math.round(value * 10) / 10

const title = (stream: string) =>
  `${stalledReaders} readers of ${stream} that never read, 100 MB of events past each: memory, cut, healthy readers`

/** V2. */
export const stalledReaderCases: readonly FaultCase[] = [
  {
    id: 'V2',
    title: title('a session'),
    run: bench => stallReaders(bench, { path: id => `/v1/sessions/${id}/events/stream?after=0`, isLive: false }),
  },
  {
    id: 'V2-opencode',
    title: title('all sessions'),
    run: bench => stallReaders(bench, { path: () => '/global/event', isLive: true }),
  },
]
