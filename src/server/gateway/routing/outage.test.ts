import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway/gateway-app.ts'
import { startScriptedUpstream } from '../../../../test/support/upstream/scripted-upstream.ts'
import type { DeploymentState } from '../../../contract/models.ts'
import type { CancelSignal } from '../../platform/cancel-signal.ts'
import type { FormatAdapter, Sink } from '../core/call.ts'
import { noTokens } from '../tokens/token-counts.ts'

const ask = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }
const errorBody = JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })
const timeouts = { connectMs: 1_000, firstByteMs: 400, idleMs: 5_000, totalMs: 400 }

interface Ended {
  readonly status: number
  readonly attempts: number
  readonly tookMs: number
}

/** Does `work` so many times, some at a time. */
async function repeat<T>(times: number, atOnce: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const done: T[] = []
  let next = 0
  const line = async () => {
    while (next < times) done.push(await work(next++))
  }
  await Promise.all(Array.from({ length: atOnce }, line))
  return done
}

const slowest = (ended: readonly Ended[], share: number): number =>
  ended.map(({ tookMs }) => tookMs).sort((a, b) => a - b)[Math.floor(ended.length * share)] ?? 0

test('F18: with one deployment rate limited and one silent, 500 calls all succeed, and both cool down', async () => {
  const limited = await startScriptedUpstream({
    script: [{ status: 429, headers: { 'retry-after': '45' }, body: errorBody }],
  })
  const silent = await startScriptedUpstream()
  silent.hold()
  const good = await startScriptedUpstream({ script: [{ text: 'served' }] })
  const upstreams = [limited, silent, good]
  const app = await startGatewayApp({
    deployments: upstreams.map(({ url }, at) =>
      deploymentAt(url, { id: `m.${at + 1}`, alias: 'm', ...(at < 2 && { timeouts }) }),
    ),
  })
  after(async () => {
    await app.stop()
    await Promise.all(upstreams.map(upstream => upstream.stop()))
  })
  const call = async (index: number): Promise<Ended> => {
    const startedMs = performance.now()
    const answer = await app.post({ ...ask, stream: index % 2 === 0 })
    assert.match(await answer.text(), /served/)
    const attempts = Number(answer.headers.get('x-switchyard-attempts'))
    return { status: answer.status, attempts, tookMs: performance.now() - startedMs }
  }
  const early = await repeat(200, 25, call)
  // The calls to the silent deployment have ended, so both cool down, and further calls avoid them.
  const late = await repeat(300, 25, call)
  const ended = [...early, ...late]
  assert.ok(ended.every(({ status }) => status === 200))
  assert.ok(slowest(ended, 0.95) <= 10_000)
  assert.ok(late.every(({ attempts }) => attempts === 1))
  assert.ok(limited.requests.length <= 25, `${limited.requests.length} calls to the limited one`)
  assert.ok(silent.requests.length <= 30, `${silent.requests.length} calls to the silent one`)

  const model = (await (await fetch(`${app.url}/v1/models/m`)).json()) as { deployments: DeploymentState[] }
  assert.deepEqual(
    model.deployments.map(({ id, state, last_error, calls }) => [id, state, last_error, calls]),
    [
      ['m.1', 'cooling', 'http_429', 0],
      ['m.2', 'cooling', 'upstream_timeout', 0],
      ['m.3', 'healthy', null, 0],
    ],
  )
  const cooldownMs = Date.parse(model.deployments[0]?.cooling_until ?? '') - Date.now()
  assert.ok(cooldownMs > 20_000 && cooldownMs <= 45_000, `${cooldownMs} ms left`)
  assert.ok(!JSON.stringify(model).includes('127.0.0.1'))
  await app.bookedCalls(500)
  assert.equal(app.booked.length, 500)
  assert.ok(app.booked.every(({ deployment, outcome }) => deployment === 'm.3' && outcome === 'completed'))
})

/** The time of one client, which passes only by its waits. */
interface Clock {
  ms: number
}

test('F19: in an outage of 60 s the attempts of 200 clients are spread, at most 3 per call, and all succeed after it', async () => {
  const outageMs = 60_000
  const clocks = new Map<CancelSignal | undefined, Clock>()
  const triesMs: number[] = []
  const adapter: FormatAdapter = async ({ call }) => {
    const nowMs = clocks.get(call.signal)?.ms ?? 0
    triesMs.push(nowMs)
    return nowMs < outageMs
      ? { outcome: 'refused', status: 529, headers: {}, body: Buffer.from(errorBody) }
      : { outcome: 'completed', status: 200, stopReason: undefined, usage: noTokens, firstContentMs: 1 }
  }
  const wait = async (ms: number, signal?: CancelSignal): Promise<void> => {
    const clock = clocks.get(signal)
    if (clock) clock.ms += ms
  }
  const app = await startGatewayApp({
    deployments: [deploymentAt('http://127.0.0.1:1', { alias: 'm' })],
    adapters: () => () => ({ protocol: 'anthropic-messages', adapter }),
    wait,
  })
  after(() => app.stop())
  const sink: Sink = { head() {}, data: () => true, onDrain() {}, end() {} }
  const client = async (number: number): Promise<void> => {
    const { signal } = new AbortController()
    const clock = { ms: 0 }
    clocks.set(signal, clock)
    const body = Buffer.from(JSON.stringify(ask))
    const requestId = `req_${number}`
    const call = {
      kind: 'messages',
      body,
      headers: {},
      query: '',
      requestId,
      caller: { principal: 'p', key: undefined },
      signal,
    } as const
    while ((await app.gateway.call(call, sink)).outcome !== 'completed') clock.ms += 1_000 * (0.5 + Math.random())
  }
  await Promise.all(Array.from({ length: 200 }, (_, number) => client(number)))
  assert.ok(app.booked.every(({ attempts }) => attempts <= 3))
  assert.equal(app.booked.filter(({ outcome }) => outcome === 'completed').length, 200)
  const seconds = Array.from(
    { length: outageMs / 1_000 },
    (_, second) => triesMs.filter(ms => Math.floor(ms / 1_000) === second).length,
  )
  const mean = seconds.reduce((sum, tries) => sum + tries, 0) / seconds.length
  assert.ok(Math.max(...seconds) <= 2 * mean, `${Math.max(...seconds)} tries in a second, the mean is ${mean}`)
})

test('F19: a group that is down gets one probe per cooldown, and serves again after the outage', async () => {
  let isDown = true
  const script = () => (isDown ? { status: 503, body: errorBody } : { text: 'up' })
  const upstreams = await Promise.all([startScriptedUpstream({ script }), startScriptedUpstream({ script })])
  const app = await startGatewayApp({
    deployments: upstreams.map(({ url }, at) => deploymentAt(url, { id: `m.${at + 1}`, alias: 'm' })),
    router: { cooldown: { failures: 3, windowMs: 60_000, outMs: 300 } },
  })
  after(async () => {
    await app.stop()
    await Promise.all(upstreams.map(upstream => upstream.stop()))
  })
  const statusOf = async () => {
    const answer = await app.post(ask)
    await answer.arrayBuffer()
    return answer.status
  }
  while ((await statusOf()) !== 529);
  const calls = () => upstreams.reduce((sum, { requests }) => sum + requests.length, 0)
  const before = calls()
  const untilMs = performance.now() + 1_000
  await repeat(50, 50, async () => {
    while (performance.now() < untilMs) {
      await statusOf()
      await sleep(20)
    }
  })
  // Two deployments with a cooldown of 300 ms: at most 4 probes each in the second, and the first attempts.
  assert.ok(calls() - before <= 10, `${calls() - before} calls while all was down`)
  isDown = false
  while ((await statusOf()) !== 200) await sleep(20)
  assert.ok((await repeat(50, 50, statusOf)).every(status => status === 200))
})
