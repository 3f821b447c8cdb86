import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { pair, rawPair, simpleRequest, streamed, textOf } from '../../../../test/support/gateway/gateway-pair.ts'
import { readStream } from '../../../../test/support/sessions/event-grammar.ts'

test('G4: POST /v1/messages sends the first frames before the upstream has finished', async () => {
  const { post, upstream } = await pair([{ text: 'Hello', pauseAtFrame: 3 }])
  const answer = await post(streamed)
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('content_block_start')) text += (await reader?.read())?.value
  assert.ok(!text.includes('message_stop'))
  upstream.release()
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value
  const { stopReason, text: said } = readStream(text)
  assert.deepEqual([said, stopReason], ['Hello', 'end_turn'])
})

test('the total timeout ends a call without a stream with 504, and a stream with an error event', async () => {
  const timeouts = { connectMs: 1_000, firstByteMs: 5_000, idleMs: 5_000, totalMs: 150 }
  const { post, upstream } = await pair([{ text: 'Hello', pauseAtFrame: 4 }, { delayMs: 600 }], {
    deployment: { timeouts },
  })
  const { error } = await textOf(await post(streamed))
  assert.equal(error?.type, 'timeout_error')
  upstream.release()
  assert.equal((await post(simpleRequest)).status, 504)
})

test('E7: pings are sent during upstream silence once message_start was sent', async () => {
  const { post, upstream } = await pair(
    [{ tool_calls: [{ name: 'bash', input: { command: 'ls' } }], pauseAtFrame: 5 }],
    { pingAfterMs: 20 },
  )
  const answer = await post(streamed)
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (text.split('event: ping').length < 5) text += (await reader?.read())?.value
  upstream.release()
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value
  assert.deepEqual(readStream(text).content[0]?.['input'], { command: 'ls' })
})

test('E7: no ping is sent before message_start', async () => {
  const { post, upstream } = await pair([{ text: 'Hello', pauseAtFrame: 0 }], { pingAfterMs: 10 })
  const answer = await post(streamed)
  await new Promise(resolve => setTimeout(resolve, 60))
  upstream.release()
  const { events } = await textOf(answer)
  assert.equal(events[0]?.type, 'message_start')
})

test('E8: pings of the upstream restart the idle timeout', async () => {
  const frames = (upTo: number) => Array.from({ length: upTo }, () => 'event: ping\ndata: {"type":"ping"}\n\n')
  const timeouts = { connectMs: 1_000, firstByteMs: 5_000, idleMs: 300, totalMs: 10_000 }
  const app = await rawPair(
    async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const frame of frames(12)) {
        response.write(frame)
        await new Promise(resolve => setTimeout(resolve, 50))
      }
      response.end('event: message_stop\ndata: {"type":"message_stop"}\n\n')
    },
    { deployment: { timeouts } },
  )
  const text = await (await app.post(streamed)).text()
  assert.ok(text.endsWith('message_stop"}\n\n'), text.slice(-200))
})

const phases = [
  ['before the first byte', streamed, undefined],
  ['in mid-stream', streamed, 4],
  ['of a call without a stream', simpleRequest, undefined],
] as const

for (const [phase, body, pauseAtFrame] of phases) {
  test(`E9, U8: a client that disconnects ${phase} aborts the upstream call, and the call is booked`, async () => {
    const { post, upstream, booked, bookedCalls } = await pair([
      { text: 'Hello', ...(pauseAtFrame !== undefined && { pauseAtFrame: pauseAtFrame }) },
    ])
    if (pauseAtFrame === undefined) upstream.hold()
    const gone = new AbortController()
    const answer = post(body, { signal: gone.signal })
    await upstream.received(1)
    if (pauseAtFrame !== undefined) await (await answer).body?.getReader().read()
    gone.abort()
    await answer.catch(() => undefined)
    await upstream.requests[0]?.closed
    await bookedCalls(1)
    assert.equal(booked[0]?.outcome, 'aborted')
    assert.equal(booked[0]?.estimated, true)
    if (pauseAtFrame !== undefined) assert.equal(booked[0]?.input_tokens, 25)
    else assert.ok(Number(booked[0]?.input_tokens) > 0)
  })
}

test('a slow client slows the upstream down, and memory stays bounded', async () => {
  const chunk = Buffer.from(`event: big\ndata: ${'x'.repeat(60_000)}\n\n`)
  let sent = 0
  const app = await rawPair(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (; sent < 2_000 && !response.destroyed; sent++) {
      if (!response.write(chunk)) await once(response, 'drain')
    }
    response.end()
  })
  const gone = new AbortController()
  const answer = await app.post(streamed, { signal: gone.signal })
  const reader = answer.body?.getReader()
  await reader?.read()
  let before = -1
  while (before !== sent) {
    before = sent
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  assert.ok(sent < 1_000, `${sent} chunks of 60 KB were sent to a client that does not read`)
  for (let at = 0; at < 50; at++) await reader?.read()
  gone.abort()
})

test('a process at its stream limit answers 529 with retry-after, and accepts calls again after a stream has ended', async () => {
  const { post, upstream, gateway } = await pair([{ text: 'Hello', pauseAtFrame: 3 }, {}], { maxStreams: 1 })
  const first = await post(streamed)
  const second = await post(streamed)
  const body = (await second.json()) as { error: { type: string } }
  assert.deepEqual([second.status, body.error.type, second.headers.get('retry-after')], [529, 'overloaded_error', '2'])
  assert.equal((await post(simpleRequest)).status, 200)
  upstream.release()
  await first.text()
  assert.equal(gateway.streams, 0)
  assert.equal((await post(streamed)).status, 200)
})
