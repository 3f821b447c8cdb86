import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { A2aStep } from '../../../../test/support/a2a/a2a-fake-task.ts'
import { errorOf, startA2aRig } from '../../../../test/support/a2a/a2a-rig.ts'
import { startRawServer } from '../../../../test/support/a2a/raw-server.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { messagesIn } from '../../../../test/support/sessions/event-text.ts'
import { promptOf, runRig } from '../../../../test/support/sessions/run-rig.ts'
import type { Json } from '../../platform/json.ts'

type Options = NonNullable<Parameters<typeof startA2aRig>[0]>

/** Runs one prompt at an agent and returns how it ended. */
async function endAt(
  options: Options,
  prepare: (fake: Awaited<ReturnType<typeof startA2aRig>>['fake']) => void = () => undefined,
) {
  const { fake, runtime, waits } = await startA2aRig(options)
  prepare(fake)
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  await fake.stop()
  return { error: errorOf(rig.log.at(-1)), fake, rig, waits }
}

const withInterface = (changes: Json) => (card: Json, url: string) => ({
  ...card,
  supportedInterfaces: [{ url: `${url}/agent`, protocolBinding: 'JSONRPC', protocolVersion: '1.0', ...changes }],
})

const cards: readonly (readonly [string, Options, RegExp])[] = [
  [
    'of another host',
    { card: withInterface({ url: 'https://evil.example/rpc' }) },
    /names https:\/\/evil.example, but api_base is at http:\/\/127/,
  ],
  [
    'of a private address',
    { card: withInterface({ url: 'http://169.254.169.254/' }) },
    /names http:\/\/169.254.169.254, but api_base/,
  ],
  ['without HTTP', { card: withInterface({ protocolBinding: 'GRPC' }) }, /offers GRPC, which is not supported/],
  [
    'of version 0.3 by its interface',
    { card: withInterface({ protocolVersion: '0.3' }) },
    /speaks A2A 0.3, which is not supported/,
  ],
  [
    'of version 0.3',
    { card: () => ({ url: 'http://a.example', protocolVersion: '0.3.0' }) },
    /speaks A2A 0.3, which is not supported/,
  ],
  ['that is no card', { card: () => ({ hello: 'world' }) }, /api_base has no agent card of A2A 1.0/],
  [
    'that requires an extension',
    { card: card => ({ ...card, capabilities: { extensions: [{ uri: 'urn:pay', required: true }] } }) },
    /requires the extension urn:pay/,
  ],
]

for (const [what, options, words] of cards) {
  test(`a card ${what} is rejected with the reason, and nothing is sent`, async () => {
    const { error, fake, waits } = await endAt(options)
    assert.match(error, words)
    assert.deepEqual([fake.messages, waits], [[], []])
  })
}

test('another host that outbound.allow lists may be called without a key, and never with one', async t => {
  const other = await startA2aRig()
  t.after(other.fake.stop)
  const card = withInterface({ url: `${other.fake.url}/agent` })
  const allowed = await startA2aRig({ card, allow: [other.fake.host] })
  t.after(allowed.fake.stop)
  const rig = runRig()
  await rig.run(allowed.runtime, promptOf('Go'))
  assert.deepEqual(messagesIn(rig.log), ['Done.'])
  const keyed = await endAt({ card, allow: [other.fake.host], key: 'key-of-the-agent' })
  assert.match(keyed.error, /a key is sent to no other host/)
  assert.ok(other.fake.calls.every(({ headers }) => headers.authorization === undefined))
})

test('a card that changes to another host between two prompts ends the second one', async t => {
  let isMoved = false
  const { fake, runtime } = await startA2aRig({
    key: 'key-of-the-agent',
    card: (card, url) => (isMoved ? withInterface({ url: 'https://evil.example/' })(card, url) : card),
  })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('One'))
  isMoved = true
  await rig.run(runtime, promptOf('Two'))
  assert.match(errorOf(rig.log.at(-1)), /names https:\/\/evil.example/)
  assert.equal(fake.messages.length, 1)
})

test('a wrong key is an error without a part of it, and nothing is sent again', async () => {
  const { error, fake } = await endAt({ key: 'right', apiKey: 'wrong-key-0123456789' })
  assert.match(error, /rejected the credential \(401\)/)
  assert.doesNotMatch(error, /wrong-key/)
  assert.equal(fake.messages.length, 1)
})

test('an agent that needs a key that is not stored is not called', async () => {
  const card = (known: Json) => ({ ...known, securityRequirements: [{ schemes: { token: {} } }] })
  const { error, fake } = await endAt({ card })
  assert.match(error, /requires a credential \(token\); set api_key/)
  assert.equal(fake.messages.length, 0)
})

test('an agent that is busy is asked again after Retry-After', async t => {
  const { fake, runtime, waits } = await startA2aRig()
  t.after(fake.stop)
  fake.fail('SendStreamingMessage', 429, { times: 2, headers: { 'retry-after': '7' } })
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.deepEqual(messagesIn(rig.log), ['Done.'])
  assert.deepEqual(waits.slice(0, 2), [7_000, 7_000])
  assert.equal(fake.tasks.length, 1)
})

test('an agent that stays busy fails the run', async () => {
  const { error } = await endAt({}, fake => fake.fail('SendStreamingMessage', 429, { times: 100 }))
  assert.match(error, /\(429\)/)
})

const steps: readonly (readonly [string, readonly A2aStep[], RegExp])[] = [
  ['garbage', [{ raw: 'data: {"jsonrpc"\n\n' }, { hold: true }], /not a JSON-RPC response/],
  [
    'a frame without content',
    [{ frame: { hello: 'world' } }, { hold: true }],
    /neither a task, a message nor an update/,
  ],
  [
    'an update of another task',
    [
      { frame: { statusUpdate: { taskId: 'other', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } } },
      { hold: true },
    ],
    /an (update of another task|answer of another context)/,
  ],
  ['an unknown state', [{ end: 'EXPLODED' as 'FAILED' }, { hold: true }], /unknown state "TASK_STATE_EXPLODED"/],
  [
    'more than 1000 messages',
    [...Array.from({ length: 1_100 }, (_, at) => ({ status: `Step ${at}` })), { hold: true }],
    /more than 1000 messages/,
  ],
  ['a frame of 20 MiB', [{ raw: `data: ${'x'.repeat(20 * 1024 * 1024)}\n\n` }, { hold: true }], /./],
]

for (const [what, script, words] of steps) {
  test(`an agent that sends ${what} fails the run, and its task is cancelled`, async t => {
    const { fake, runtime } = await startA2aRig({ script: () => script })
    t.after(fake.stop)
    const rig = runRig()
    const stop = new AbortController()
    const running = rig.run(runtime, promptOf('Go'), { signal: stop.signal })
    // A frame that is too long loses its stream only: the task is then read, and goes on until it is stopped.
    if (what.startsWith('a frame of 20'))
      await eventually(() => fake.count('SubscribeToTask') > 0).then(() => stop.abort())
    await running
    if (!stop.signal.aborted) assert.match(errorOf(rig.log.at(-1)), words)
    if (fake.tasks[0]?.state !== 'EXPLODED') assert.equal(fake.tasks[0]?.state, 'CANCELED')
  })
}

test('texts end after 1 Mi characters with a note, and 8 Mi of them fail the run', async () => {
  const piece = 'x'.repeat(512 * 1024)
  const pieces = { artifact: [piece, piece, piece] }
  const { fake, runtime } = await startA2aRig({ script: () => [pieces] })
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  await fake.stop()
  assert.match(messagesIn(rig.log)[0] ?? '', /x\n\[truncated: 524288 characters\]$/)
  const many = Array.from({ length: 10 }, (_, at) => ({ ...pieces, id: `a${at}` }))
  const { error } = await endAt({ script: () => [...many, { hold: true }] })
  assert.match(error, /more than 8 Mi characters/)
})

const answers: readonly (readonly [string, { body: string; type: string }, RegExp])[] = [
  ['HTML', { body: '<html>', type: 'text/html' }, /content type text\/html in place of a stream/],
  ['JSON that is no response', { body: '[]', type: 'application/json' }, /not a JSON-RPC response/],
  ['text instead of JSON', { body: 'nope', type: 'application/json' }, /not a JSON-RPC response/],
]

for (const [what, body, words] of answers) {
  test(`an answer that is ${what} fails the run with the reason`, async () => {
    const { error } = await endAt({}, fake => fake.fail('SendStreamingMessage', body, { times: 100 }))
    assert.match(error, words)
  })
}

test('a redirect is not followed', async () => {
  const { error } = await endAt({}, fake =>
    fake.fail('SendStreamingMessage', 307, { times: 100, headers: { location: 'http://127.0.0.1:1/' } }),
  )
  assert.match(error, /redirect \(307\), which is not followed/)
})

test('an agent that is unreachable fails the run after its tries', async () => {
  const { fake, runtime, waits } = await startA2aRig()
  await fake.stop()
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.match(errorOf(rig.log.at(-1)), /connection to the runtime failed \(ECONNREFUSED\)/)
  assert.ok(waits.reduce((sum, ms) => sum + ms, 0) === 30_000)
})

test('a task that disappears ends the run', async t => {
  const { fake, runtime } = await startA2aRig({ script: () => [{ status: 'One' }, { cut: true }, { hold: true }] })
  t.after(fake.stop)
  fake.fail('GetTask', -32001)
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.equal(errorOf(rig.log.at(-1)), 'the task was deleted at the agent')
})

test('a stream without end, and a task without end, are stopped by the time limit of the run', async t => {
  const { fake, runtime } = await startA2aRig({ isStreaming: false, script: () => [{ hold: true }] })
  t.after(fake.stop)
  const stop = new AbortController()
  const running = runRig().run(runtime, promptOf('Go'), { signal: stop.signal })
  await eventually(() => fake.count('GetTask') > 5)
  stop.abort()
  await running
  assert.equal(fake.tasks[0]?.state, 'CANCELED')
})

test('bodies above 32 MiB and answers without end are cut off', async t => {
  const raw = await startRawServer(t)
  const error = await raw.cardError('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n', ' '.repeat(64 * 1024))
  assert.match(error, /exceeds 32 MiB/)
})

test('the check reports the credential, and a card that cannot be used', async t => {
  const good = await startA2aRig({ key: 'right' })
  t.after(good.fake.stop)
  const signal = AbortSignal.timeout(5_000)
  await good.kind.check(good.endpoint, signal)
  assert.deepEqual(await good.kind.models(good.endpoint, signal), [])
  await assert.rejects(good.kind.check({ ...good.endpoint, apiKey: 'wrong' }, signal), /rejected the credential/)
  await assert.rejects(good.kind.check({ ...good.endpoint, apiKey: undefined }, signal), /requires a credential/)
  const direct = { ...good.endpoint, apiBase: `${good.fake.url}/cards/agent-card.json` }
  await good.kind.check(direct, signal)
  assert.ok(good.fake.messages.length === 0)
})
