// Opens connections that never finish their headers: silent, after one line, and with a byte every second.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { startService } from '../support/service/service.ts'

const service = await startService()
const { hostname, port } = new URL(service.url)

for (const [name, dripsMs] of [
  ['one line', 0],
  ['a byte every second', 1_000],
] as const) {
  test(`L2: a connection with ${name} of its headers is closed within 15 s`, async () => {
    const startedMs = performance.now()
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\nx-slow: ')
    const drip = dripsMs > 0 ? setInterval(() => socket.writable && socket.write('a'), dripsMs) : undefined
    const answer = await text(socket).finally(() => clearInterval(drip))
    const seconds = (performance.now() - startedMs) / 1_000
    assert.match(answer, /^HTTP\/1\.1 408 /)
    assert.ok(seconds < 15, `it was closed after ${seconds.toFixed(1)} s`)
  })
}
