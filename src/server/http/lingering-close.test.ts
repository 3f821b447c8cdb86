import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { closeLingering } from './lingering-close.ts'

test('a client that is sending still gets an early answer before its connection closes', async t => {
  const server = createServer((_request, response) => response.writeHead(413).end('too large'))
  closeLingering(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const closed = once(client, 'close')
  const errors: unknown[] = []
  client.on('error', error => errors.push(error))
  let answer = ''
  client.on('data', chunk => {
    answer += chunk
  })
  const chunk = Buffer.alloc(64 * 1024)
  client.write(`POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${20 * chunk.length}\r\n\r\n`)
  for (let sent = 0; sent < 20; sent++) {
    client.write(chunk)
    await sleep(2)
  }
  client.end()
  await closed
  assert.deepEqual(errors, [])
  assert.match(answer, /^HTTP\/1\.1 413 [\s\S]*too large/)
})

test('a connection closes at once after a whole request', async t => {
  const server = createServer((request, response) => request.resume().on('end', () => response.end('done')))
  closeLingering(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const answer = await fetch(`http://127.0.0.1:${port}`, {
    method: 'POST',
    body: 'all',
    headers: { connection: 'close' },
  })
  assert.equal(await answer.text(), 'done')
  const open = await new Promise<number>((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )
  assert.equal(open, 0)
})
