import { test } from 'node:test'
import { send } from './send.ts'
import { startService } from './service.ts'

test('x', async () => {
  const s = await startService()
  for (const p of [
    '//api/agents',
    '/api/agents#',
    '/docs/../api/agents',
    '/api//agents',
    '\\api\\agents',
    '/api/agents%00',
    'http://elsewhere.example/api/agents',
    '/%2561pi/agents',
    '/api/agents%20',
    '/api/agents%zz',
    '/session/%zz',
    '/docs/%zz',
    '/session/' + 'a'.repeat(600),
    '/v1/messages/%zz',
  ])
    console.log(
      p,
      await send({ url: s.url }, 'GET ' + p).then(
        a => a.status + a.text + a.headers['request-id'] + a.headers['content-type'],
        e => String(e),
      ),
      await send(s, 'GET ' + p).then(
        a => a.status + a.text,
        e => String(e),
      ),
    )
  console.log(
    await send(s, 'GET /api/agents', { headers: { 'x-big': 'a'.repeat(17000) } }).then(
      a => a.status + a.text + JSON.stringify(a.headers),
      e => String(e),
    ),
  )
  console.log(
    await send(s, 'OPTIONS /api/agents').then(
      a => a.status + a.text + JSON.stringify(a.headers),
      e => String(e),
    ),
  )
  console.log(
    await send(s, 'HEAD /api/agents').then(
      a => a.status + a.text + JSON.stringify(a.headers),
      e => String(e),
    ),
  )
  console.log(
    await send(s, 'HEAD /').then(
      a => a.status + a.text + JSON.stringify(a.headers),
      e => String(e),
    ),
  )
  console.log(s.logs())
})
