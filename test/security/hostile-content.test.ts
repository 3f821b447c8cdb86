import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Session } from '../../src/contract/sessions.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, sendOk } from '../support/service/send.ts'
import { followEvents, followFeed } from '../support/sessions/event-tail.ts'
import { saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService()

const texts = [
  'one\n\nevent: session.deleted\ndata: {"type":"session.deleted"}\n\n',
  '\r\n\r\nid: 999999\r\ndata: {}\r\n\r\n',
  'a\rb\rdata: x',
  '\u2028event: x\u2029data: y',
  '\ufeffdata: x\u0085',
  ': comment\nretry: 1\n\n',
]

test('S46: a parser of the stream reads only frames that the service has sent, whatever texts contain', async () => {
  const feed = await followFeed(service)
  const { id } = await sendOk<Session>(service, 'POST /session', {
    body: { title: texts[0], metadata: { a: texts[1] } },
  })
  const tail = await followEvents(service, id, { query: 'event_deltas=true' })
  const prompt = `${texts.join(' ')} ${saying({ text: texts.join(' ') })}`
  const body = { model: { modelID: 'scripted' }, parts: [{ type: 'text', text: prompt }] }
  await sendOk(service, `POST /session/${id}/prompt_async`, { body })
  await tail.event('session.status_idle')
  await feed.frame((_, event) => event.type === 'session.status_idle')
  const list = await sendOk<{ data: { seq: number; type: string }[] }>(
    service,
    `GET /v1/sessions/${id}/events?limit=1000`,
  )
  assert.deepEqual(
    tail.events.map(({ seq, type }) => [seq, type]),
    list.data.map(({ seq, type }) => [seq, type]),
  )
  for (const { frames, text } of [tail, feed]) {
    for (const frame of frames) {
      assert.doesNotThrow(() => JSON.parse(frame.data), frame.data)
      assert.match(frame.event ?? '', /^[a-z_.]+$/)
      assert.match(frame.id ?? '0', /^[\w.~-]+$/)
    }
    for (const line of text.split(/\r\n|\r|\n/))
      assert.match(line, /^(|:.*|id: [\w.~-]+|event: [a-z_.]+|data: \{.*\}|retry: \d+)$/s)
    assert.ok(!text.includes('\r'))
  }
  for (const reader of [tail, feed]) reader.close()
})

test('S47: a file of a workspace is a download of no type that a browser renders', async () => {
  const { id } = await sendOk<Session>(service, 'POST /session', { body: {} })
  for (const name of ['page.html', 'image.svg', 'script.js', 'a"b\u00e4.xhtml']) {
    const line = `/api/sessions/${id}/files/${encodeURIComponent(name)}`
    const headers = { 'content-type': 'text/html' }
    await eventually(
      async () => (await send(service, `PUT ${line}`, { headers, body: '<script>x</script>' })).status === 200,
    )
    const answer = await send(service, `GET ${line}`)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.headers['content-type'], 'application/octet-stream')
    assert.match(answer.headers['content-disposition'] ?? '', /^attachment/)
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
  }
  const archive = await send(service, `GET /api/sessions/${id}/archive`)
  assert.match(archive.headers['content-disposition'] ?? '', /^attachment/)
  assert.equal(archive.headers['x-content-type-options'], 'nosniff')
})
