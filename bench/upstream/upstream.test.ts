import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { nowUs, stampedText } from '../exchange.ts'
import { sendCalls } from '../wrk/wrk.ts'
import { startUpstream } from './upstream.ts'

const folder = await mkdtemp(join(tmpdir(), 'switchyard-upstream-'))
const events = ['data: one\n\n', 'data: two\n\n', 'data: three\n\n']
const upstream = await startUpstream(folder, [
  { path: '/whole', body: '{"text":"All is well."}' },
  { path: '/burst', body: events.join(''), pauseMs: 0 },
  { path: '/paced', body: events.join(''), pauseMs: 5 },
  { path: '/stamped', body: events.join('').replace('two', stampedText(1)), pauseMs: 20, pausedEvent: 1 },
])
after(async () => {
  await upstream.stop()
  await rm(folder, { recursive: true })
})

const body = join(folder, 'body.json')
await writeFile(body, JSON.stringify({ text: 'x'.repeat(300_000) }))

test('every call of wrk is answered, and the upstream counts it', async () => {
  const before = await upstream.counts()
  const calls = {
    url: `${upstream.origin}/whole`,
    body,
    headers: { 'x-api-key': 'secret' },
    connections: 8,
    seconds: 1,
  }
  const { calls: answered } = await sendCalls(calls)
  const { answers } = await upstream.counts()
  assert.ok(answered > 0)
  assert.ok(answers - before.answers >= answered, `${answers} answers to ${answered} calls`)
})

test('a run whose calls get an error status is rejected', async () => {
  const calls = { url: `${upstream.origin}/unknown`, body, headers: {}, connections: 1, seconds: 1 }
  await assert.rejects(sendCalls(calls), /calls to .*\/unknown failed: [1-9]\d* with an error status/)
})

for (const path of ['/burst', '/paced?alt=sse']) {
  test(`a body in chunks is read, and ${path} is a stream of all events`, async () => {
    const chunks = ReadableStream.from(Array.from({ length: 100 }, () => Buffer.alloc(5_000, 'x')))
    const before = await upstream.counts()
    const answer = await fetch(upstream.origin + path, { method: 'POST', body: chunks, duplex: 'half' })
    assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    assert.equal(await answer.text(), events.join(''))
    const now = await upstream.counts()
    assert.deepEqual([now.answers - before.answers, now.events - before.events], [1, events.length])
  })
}

test('an event carries the time at which it was written', async () => {
  const before = nowUs()
  const answer = await fetch(`${upstream.origin}/stamped`, { method: 'POST', body: '{}' })
  const [, stamp, rest] = /^data: one\n\ndata: n0001t(\d{16})\n\n(.*)$/s.exec(await answer.text()) ?? []
  assert.equal(rest, events[2])
  assert.ok(Number(stamp) >= before && Number(stamp) <= nowUs(), `${before} ${stamp}`)
})
