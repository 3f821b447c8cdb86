import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startService } from '../support/service/service.ts'

const service = await startService({ config: JSON.stringify({ demo: true }) })

interface Upgrade {
  readonly line: string
  readonly protocol?: string
  readonly body?: string
  readonly key?: string
}

/** The status and the whole text with which the server answers a request to change the protocol. */
function answerTo({ line, protocol = 'websocket', body = '', key = service.key }: Upgrade): Promise<[number, string]> {
  const { hostname, port } = new URL(service.url)
  const head = [
    `${line} HTTP/1.1`,
    `host: ${hostname}`,
    ...(key === '' ? [] : [`authorization: Bearer ${key}`]),
    `upgrade: ${protocol}`,
    'connection: Upgrade',
    'sec-websocket-version: 13',
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    ...(body === '' ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
  ]
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.setEncoding('utf8').on('data', chunk => {
      text += chunk
      const [top = '', content] = text.split('\r\n\r\n')
      const length = /content-length: (\d+)/i.exec(top)?.[1]
      if (content === undefined || (length !== undefined && content.length < Number(length))) return
      socket.destroy()
      resolve([Number(text.split(' ')[1]), text])
    })
    socket.on('error', reject)
    socket.on('end', () => resolve([0, text]))
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  })
}

test('E2: a WebSocket on /v1/responses is 426, with what to do instead', async () => {
  const [status, text] = await answerTo({ line: 'GET /v1/responses' })
  assert.equal(status, 426)
  assert.match(text, /\r\nupgrade: HTTP\/1\.1\r\n/i)
  assert.match(text, /"message":"WebSocket is not supported here; use POST \/v1\/responses over HTTP"/)
  assert.equal((await answerTo({ line: 'GET /v1/responses?model=gpt-5.5' }))[0], 426)
  assert.equal((await answerTo({ line: 'GET /v1/responses', key: '' }))[0], 401)
})

const demo = JSON.stringify({ model: 'demo', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] })

const others: readonly (readonly [Upgrade, number])[] = [
  [{ line: 'GET /v1/messages' }, 426],
  [{ line: 'GET /api/agents' }, 200],
  [{ line: 'GET /health/live' }, 200],
  [{ line: 'GET /nowhere' }, 404],
  [{ line: 'GET /v1/nowhere' }, 404],
  [{ line: 'GET /health/live', protocol: 'h2c' }, 200],
  [{ line: 'POST /v1/messages', body: demo }, 200],
  [{ line: 'POST /v1/messages', protocol: 'h2c', body: demo }, 200],
  [{ line: 'POST /v1/messages', protocol: 'anything', body: '{' }, 400],
]
for (const [upgrade, status] of others) {
  const { line, protocol = 'websocket', body = '' } = upgrade
  test(`E2: ${line} with a request for ${protocol}${body && ' and a body'} is answered with ${status}`, async () => {
    const [answered, text] = await answerTo(upgrade)
    assert.equal(answered, status, text)
  })
}
