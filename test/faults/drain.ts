import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../support/service/eventually.ts'
import { checkInvariants } from './checker.ts'
import { startCluster } from './cluster.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { createJournal, type Journal } from './journal.ts'
import { untilQuiet } from './load.ts'
import { observe } from './observer.ts'
import { follow } from './readers.ts'
import { sendOnce, tailEvents } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { scriptedText, startUpstream } from './upstream.ts'

const calls = 100
const streams = 200
const sessions = 10
const drainMs = 30_000

/** F07: SIGTERM with calls and streams in flight and running sessions. */
async function drainUnderLoad(bench: Bench) {
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: await bench.cluster.database() })
  const journal = createJournal(bench)
  const service = await site.start()
  const observer = observe(bench, site.databaseUrl)
  const sessionIds = await startLongRuns(site, journal)
  const stalled = await stalledReader(bench, site, journal)
  const tails = await Promise.all(
    Array.from({ length: streams }, (_, at) => tailEvents(site, sessionIds[at % sessions] ?? '')),
  )
  await eventually(async () => (await observer.runs()).length === sessions, { what: 'all runs' })
  const inFlight = Array.from({ length: calls }, (_, at) => callModel(site, at))
  const seen = () => upstream.record().filter(({ what, key }) => what === 'call' && key.startsWith('call-')).length
  await eventually(() => seen() === calls, { what: 'all calls at the upstream' })

  const stoppedAt = performance.now()
  const exit = service.stop()
  const texts = await Promise.all(inFlight)
  await Promise.all(tails.map(({ ended }) => ended))
  const code = await exit
  const exitMs = Math.round(performance.now() - stoppedAt)
  stalled.destroy()
  assert.equal(code, 0, `the exit code; the log ends in ${service.logs().slice(-500)}`)
  assert.ok(exitMs <= drainMs, `exit after ${exitMs} ms, not within 30 s`)
  assert.deepEqual(new Set(texts), new Set(['whole']), 'every call in flight gets its whole answer')
  const { rows } = await observer.pool.query('select id from sessions where lease_owner is not null')
  assert.deepEqual(rows, [], 'every session was handed over')

  await site.start()
  const readers = sessionIds.map(id => follow(bench, () => site, id))
  await untilQuiet(observer, readers)
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
  const secondMs = await stopTwice(site)
  return { rounds: 2, numbers: { exit_ms: exitMs, second_signal_exit_ms: secondMs, ...checked } }
}

/** Sessions whose runs take longer than a drain may. */
async function startLongRuns(site: Site, journal: Journal): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < sessions; at++) {
    const sessionId = await journal.session(() => site, `s${at}`)
    const steps = Array.from({ length: 6 }, (_, step) => ({
      delayMs: 1_500,
      tool_calls: [{ name: 'bash', input: { command: `echo s${at}-${step} >> ran.txt` } }],
    }))
    const text = scriptedText(`s${at}`, [...steps, { text: 'done' }])
    await journal.prompt(() => site, { sessionId, key: `s${at}`, text, by: 'idempotency key' })
    ids.push(sessionId)
  }
  return ids
}

/** A client that opens a stream with more than a socket holds, and never reads. */
async function stalledReader(bench: Bench, site: Site, journal: Journal): Promise<Socket> {
  const sessionId = await journal.session(() => site, 'stalled')
  for (let at = 0; at < 8; at++) {
    const key = `stalled-${at}`
    const text = scriptedText(key, [{ text: 'x'.repeat(800_000) }])
    await journal.prompt(() => site, { sessionId, key, text, by: 'message id' })
  }
  const { hostname, port } = new URL(site.url)
  const socket = connect(Number(port), hostname)
  bench.defer(() => void socket.destroy())
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(
    `GET /v1/sessions/${sessionId}/events/stream HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${site.key}\r\n\r\n`,
  )
  return socket
}

/** A streamed call that takes 2 s; `whole`, or what came instead. */
async function callModel(site: Site, at: number): Promise<string> {
  const content = scriptedText(`call-${at}`, [{ delayMs: 2_000, text: `answer ${at}` }])
  const body = { model: 'scripted', max_tokens: 100, stream: at % 2 === 0, messages: [{ role: 'user', content }] }
  const answer = await sendOnce(site, 'POST /v1/messages', { body })
  const end = body.stream ? '"type":"message_stop"' : '"stop_reason":"end_turn"'
  return answer.status === 200 && answer.text.includes(end) ? 'whole' : `${answer.status} ${answer.text.slice(0, 200)}`
}

/** A second signal while a call is in flight; milliseconds from it to the end. */
async function stopTwice(site: Site): Promise<number> {
  const { service } = site
  if (!service) throw new Error('the service does not run')
  const content = scriptedText('long', [{ delayMs: 60_000 }])
  const body = { model: 'scripted', max_tokens: 100, messages: [{ role: 'user', content }] }
  const call = sendOnce(site, 'POST /v1/messages', { body }).catch(() => undefined)
  await sleep(500)
  const exit = service.stop()
  // Signals that come at once count as one, since a Ctrl-C reaches a program by several ways.
  await sleep(1_000)
  const secondAt = performance.now()
  process.kill(service.pid, 'SIGTERM')
  await exit
  const ms = Math.round(performance.now() - secondAt)
  await call
  assert.ok(ms < 1_000, `the second signal took ${ms} ms`)
  return ms
}

/** F07, with a database that does not answer at all: the process must end in time without it. */
async function drainWithoutDatabase(bench: Bench) {
  const cluster = await startCluster(join(bench.folder, 'cluster'))
  bench.defer(() => cluster.stop())
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: await cluster.database() })
  const journal = createJournal(bench)
  const service = await site.start()
  const sessionIds = await startLongRuns(site, journal)
  const observer = observe(bench, site.databaseUrl)
  await eventually(async () => (await observer.runs()).length === sessions, { what: 'all runs' })
  const thaw = cluster.freeze()
  const frozenAt = performance.now()
  const code = await service.stop()
  const exitMs = Math.round(performance.now() - frozenAt)
  thaw()
  await site.start()
  const readers = sessionIds.map(id => follow(bench, () => site, id))
  await untilQuiet(observer, readers)
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
  assert.equal(code, 0)
  assert.ok(exitMs <= drainMs, `exit after ${exitMs} ms, not within 30 s`)
  return { rounds: 1, numbers: { exit_ms: exitMs, ...checked } }
}

/** F07. */
export const drainCases: readonly FaultCase[] = [
  {
    id: 'F07',
    title: `SIGTERM with ${calls} calls, ${streams} readers, ${sessions} runs and a reader that never reads`,
    run: drainUnderLoad,
  },
  {
    id: 'F07-frozen',
    title: `SIGTERM with ${sessions} runs while the database does not answer at all`,
    run: drainWithoutDatabase,
  },
]
