import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { jsonAnswer, type Kind, messagesFrames } from '../exchange.ts'
import { startUpstream } from '../upstream/upstream.ts'
import { chatFrames } from './chat-exchange.ts'
import { type GatewayLoad, sendGatewayLoad } from './gateway-load.ts'

const folder = await mkdtemp(join(tmpdir(), 'switchyard-sender-'))
const frames = messagesFrames()
const upstream = await startUpstream(folder, [
  { path: '/json', body: jsonAnswer },
  { path: '/other', body: '{"text":"something else"}' },
  { path: '/messages', body: frames.join(''), pauseMs: 1 },
  { path: '/chat', body: [...chatFrames()].join(''), pauseMs: 0 },
  { path: '/short', body: frames.toSpliced(50, 3).join(''), pauseMs: 0 },
  {
    path: '/swapped',
    body: frames
      .with(50, frames[51] ?? '')
      .with(51, frames[50] ?? '')
      .join(''),
    pauseMs: 0,
  },
  { path: '/late', body: frames.join(''), pauseMs: 250, pausedEvent: 50 },
  { path: '/endless', body: frames.slice(0, -1).join(''), pauseMs: 0 },
])
after(async () => {
  await upstream.stop()
  await rm(folder, { recursive: true })
})

const send = (path: string, kind: Kind, load: Partial<GatewayLoad> = {}) =>
  sendGatewayLoad({ origin: upstream.origin, path, model: 'm', headers: {} }, { ...few, kind, ...load }, folder)
const few = { calls: 6, connections: 3, bodyBytes: 2_500 } as const

for (const [name, path] of [
  ['Anthropic', '/messages'],
  ['OpenAI chat', '/chat'],
] as const) {
  test(`whole streams of ${name} are found whole, and each event is timed`, async () => {
    const { calls, broken, lostEvents, stalls, fault, relay, firstContent, whole } = await send(path, 'burst')
    assert.deepEqual([calls, broken, lostEvents, stalls, fault], [6, 0, 0, 0, undefined])
    for (const { p50, p99 } of [relay, firstContent, whole]) assert.ok(p50 > 0 && p99 >= p50 && p99 < 5_000)
  })
}

test('a whole answer that is not a stream is looked into', async () => {
  assert.equal((await send('/json', 'json')).broken, 0)
  await assert.rejects(send('/other', 'json'), /6 of 6 calls failed: an answer lacks the text that was sent/)
})

for (const [path, fault] of [
  ['/short', 'events came out of order'],
  ['/swapped', 'events came out of order'],
  ['/endless', 'an answer lacks the text that was sent'],
  ['/nowhere', 'the answer is no success: '],
] as const) {
  test(`calls of ${path} are broken: ${fault}`, () => assert.rejects(send(path, 'burst'), new RegExp(fault)))
}

test('events of a stream that pauses in the middle are sent late, not stalled', async () => {
  const { broken, stalls, whole } = await send('/late', 'paced', { calls: 2, connections: 2, rampMs: 20 })
  assert.deepEqual([broken, stalls], [0, 0])
  assert.ok(whole.p50 >= 250)
})

test('calls are sent for a time, with pauses between them', async () => {
  const { calls, elapsedMs, maxOpen } = await sendGatewayLoad(
    { origin: upstream.origin, path: '/messages', model: 'm', headers: {} },
    { kind: 'burst', bodyBytes: 2_500, connections: 2, durationMs: 600, thinkMs: 100 },
    folder,
  )
  assert.ok(calls >= 4 && calls <= 12, `${calls} calls`)
  assert.ok(elapsedMs >= 600 && maxOpen <= 2)
})
