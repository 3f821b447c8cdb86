import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { notBehindProxy } from '../support/contract/contract-tests.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { commandLine } from '../support/service/processes.ts'
import { open, send } from '../support/service/send.ts'
import { type Service, startService } from '../support/service/service.ts'
import { configFor } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
after(() => upstream.stop())
const { url: databaseUrl } = await freshDatabase()
const start = (env: Record<string, string> = {}) =>
  startService({ databaseUrl, config: configFor(upstream), env: { WORKERS: '2', ...env } })
const service = await start()
after(() => service.stop())

/** The processes of the service that run `worker.ts`. */
function workersOf({ pid }: Pick<Service, 'pid'>): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return children.filter(child => commandLine(child).includes('worker.ts')).map(Number)
}

/** Which worker answered each request of that path, by the lines of the log. */
const answeredBy = (path: string): number[] =>
  service
    .logs()
    .split('\n')
    .filter(line => line.startsWith('{') && line.includes(`"path":"${path}"`))
    .map(line => (JSON.parse(line) as { readonly worker: number }).worker)

/** On its own connection: one that is kept stays with its worker. */
const ask = (line: string) => send(service, line, { headers: { connection: 'close' } })

const slowAnswer = {
  model: 'scripted',
  max_tokens: 100,
  stream: true,
  messages: [{ role: 'user', content: `[[{"text": "${'slow '.repeat(10)}", "chunkDelayMs": 150}]]` }],
}

test('both processes answer on the one port, and each line of the log names the one that wrote it', async () => {
  await eventually(async () => {
    await ask('GET /api/capabilities')
    return new Set(answeredBy('/api/capabilities')).size === 2
  })
  assert.deepEqual([...new Set(answeredBy('/api/capabilities'))].sort(), [1, 2])
  assert.equal(workersOf(service).length, 2)
})

test('a session that one process accepts runs, whichever of them takes it', async () => {
  const { id } = (await send(service, 'POST /session', { body: { prompt: 'Hello' } })).json<{ id: string }>()
  await eventually(async () => (await send(service, `GET /session/${id}`)).json<{ status: string }>().status === 'idle')
})

const isDirect = { skip: notBehindProxy('the proxy holds connections to a worker that ends') }

test('a worker that is killed is replaced, and the other one answers meanwhile', isDirect, async () => {
  const [victim, other] = workersOf(service)
  process.kill(Number(victim), 'SIGKILL')
  await eventually(async () => !workersOf(service).includes(Number(victim)))
  // The connection that was just handed to it gets no answer; the next one does.
  await eventually(async () => (await send(service, 'GET /health/live').catch(() => undefined))?.status === 200)
  await eventually(async () => workersOf(service).length === 2)
  assert.ok(workersOf(service).includes(Number(other)))
  assert.match(service.logs(), /"reason":"exited with SIGKILL".*"worker exited; starting a replacement"/)
  const before = answeredBy('/api/agents').length
  await eventually(async () => {
    await ask('GET /api/agents').catch(() => undefined)
    return new Set(answeredBy('/api/agents').slice(before)).size === 2
  })
})

test(
  'SIGTERM to one worker drains it: its stream ends whole, and another process takes its place',
  isDirect,
  async () => {
    const stream = await open(service, 'POST /v1/messages', { body: slowAnswer })
    const answer = text(stream)
    const before = workersOf(service)
    for (const pid of before) process.kill(pid, 'SIGTERM')
    assert.match(await answer, /event: message_stop/)
    await eventually(async () => workersOf(service).filter(pid => !before.includes(pid)).length === 2)
    await eventually(async () => (await send(service, 'GET /health/ready').catch(() => undefined))?.status === 200)
  },
)

test('SIGTERM drains all: a stream ends whole, the exit code is 0, and no process stays', async () => {
  const own = await start({ SWITCHYARD_DRAIN_DELAY_MS: '0' })
  const workers = workersOf(own)
  const stream = await open(own, 'POST /v1/messages', { body: slowAnswer })
  const answer = text(stream)
  const code = own.stop()
  assert.match(await answer, /event: message_stop/)
  assert.equal(await code, 0)
  for (const pid of workers) assert.throws(() => process.kill(pid, 0), /ESRCH/)
})

test('processes of one machine are no replicas to drain to, and one embedded database serves them', async () => {
  const alone = await startService({ databaseUrl: '', env: { WORKERS: '3', SWITCHYARD_DRAIN_DELAY_MS: '120000' } })
  try {
    assert.equal(workersOf(alone).length, 3)
    const { id } = (await send(alone, 'POST /api/agents', { body: { name: 'A', owner_id: 'o' } })).json<{
      id: string
    }>()
    for (let turn = 0; turn < 6; turn++) assert.equal((await send(alone, `GET /api/agents/${id}`)).status, 200)
  } finally {
    const startedAt = performance.now()
    assert.equal(await alone.stop(), 0)
    assert.ok(performance.now() - startedAt < 120_000, 'it waited for a load balancer')
  }
})

test('workers end with a parent that is killed', async () => {
  const own = await start()
  const workers = workersOf(own)
  await own.kill()
  await eventually(async () => workers.every(pid => !isThere(pid)))
})

test('a count that is no count stops the start with the reason', async () => {
  for (const WORKERS of ['0', 'abc']) {
    await assert.rejects(
      start({ WORKERS }),
      new RegExp(`WORKERS must be a whole number from 1 to 256, not "${WORKERS}"`),
    )
  }
})

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
