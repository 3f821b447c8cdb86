import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertOnce, managedAgentsStage, story } from '../../../../test/support/managed-agents/managed-agents-stage.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { promptOf } from '../../../../test/support/sessions/run-rig.ts'
import { createOutbound } from '../../platform/outbound.ts'
import { managedAgentsKind } from './kind.ts'

const makes = ['agents', 'environments', 'sessions'] as const
const isMake = ({ method, path }: { method: string; path: string }): boolean =>
  method === 'POST' && makes.some(what => path === `/v1/${what}`)
const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

for (const [status, headers, waitedMs] of [
  [429, { 'retry-after': '7' }, 7_000],
  [529, {}, 500],
  [503, { 'retry-after': '0' }, 500],
] as const) {
  test(`creation that a server rejects with ${status} is retried and succeeds once, after ${waitedMs} ms each`, async t => {
    const { fake, runtime, rig, waits } = await managedAgentsStage(t)
    const refused = new Set<string>()
    fake.state.fault = request => {
      if (!isMake(request) || refused.has(request.path)) return undefined
      refused.add(request.path)
      return { status, headers }
    }
    await rig.run(runtime, promptOf('Hi'))
    assert.deepEqual(story(rig.log), ['running', 'says Hello', 'idle end_turn'])
    assertOnce(fake)
    assert.equal(sum(waits), 3 * waitedMs)
  })
}

test('a server that keeps rejecting fails the run with its message, and nothing else is created', async t => {
  const { fake, runtime, rig } = await managedAgentsStage(t)
  fake.state.fault = request => (request.path === '/v1/environments' ? { status: 429 } : undefined)
  await rig.run(runtime, promptOf('Hi'))
  assert.deepEqual(story(rig.log), ['running', 'terminal: the runtime rejected the request (429): injected'])
  assert.equal(fake.requestsTo('POST', '/v1/environments').length, 6)
  assert.deepEqual([fake.agents.size, fake.environments.size, fake.sessions.size], [1, 0, 0])
  // The next prompt uses what exists.
  fake.state.fault = () => undefined
  await rig.run(runtime, promptOf('Again'))
  assertOnce(fake)
})

for (const fault of ['lost after', { status: 500 }, { status: 502 }, { status: 409 }] as const) {
  const what = typeof fault === 'string' ? 'an answer that is lost' : `a ${fault.status}`
  test(`after ${what} creation is not retried: the object may exist`, async t => {
    const { fake, runtime, rig } = await managedAgentsStage(t)
    fake.state.fault = request => (isMake(request) ? fault : undefined)
    await rig.run(runtime, promptOf('Hi'))
    assert.equal(fake.requests.length, 1)
    assert.match(story(rig.log).at(-1) ?? '', /^terminal: /)
  })
}

/** The runtime with waits that last until the run is over. */
async function waitingStage(t: Parameters<typeof managedAgentsStage>[0]) {
  const { fake, rig } = await managedAgentsStage(t)
  fake.state.fault = request => (isMake(request) ? { status: 429 } : undefined)
  const over = new AbortController()
  const kind = managedAgentsKind({
    outbound: createOutbound({ allow: [fake.host] }),
    memories: async () => '',
    wait: () => new Promise(resolve => over.signal.addEventListener('abort', () => resolve(), { once: true })),
  })
  return { fake, rig, over, runtime: kind.connect({ id: 'cma', apiBase: fake.url, apiKey: fake.apiKey }) }
}

test('an interrupt ends the wait without further requests', async t => {
  const { fake, rig, over, runtime } = await waitingStage(t)
  const running = rig.run(runtime, promptOf('Hi'), { signal: over.signal })
  await eventually(() => fake.requests.length === 1)
  over.abort()
  await running
  assert.equal(fake.requests.length, 1)
  assert.deepEqual(story(rig.log), ['running'])
})

test('a draining process hands the session over, and the next one creates the rest', async t => {
  const { fake, rig, over, runtime } = await waitingStage(t)
  const prompt = promptOf('Hi')
  const running = rig.run(runtime, prompt, { isDraining: () => over.signal.aborted })
  await eventually(() => fake.requests.length === 1)
  over.abort()
  await running
  assert.equal(fake.requests.length, 1)
  fake.state.fault = () => undefined
  await rig.run(runtime, prompt, { isResumed: true })
  assert.deepEqual(story(rig.log), ['running', 'says Hello', 'idle end_turn'])
  assertOnce(fake)
})
