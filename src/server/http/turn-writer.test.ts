import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { TurnWriter } from './turn-writer.ts'

let answer: (writer: TurnWriter, response: ServerResponse) => void = () => {}
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  answer(new TurnWriter(response), response)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
after(() => server.close())

/** Returns all bytes of a response as text. */
async function exchange(version: string, requests = 1): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const last = `GET / HTTP/${version}\r\nhost: x\r\nconnection: close\r\n\r\n`
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(requests - 1) + last)
  return text(socket)
}

const bodyOf = (received: string): string => received.slice(received.indexOf('\r\n\r\n') + 4)

test('pieces of one turn are sent as one chunk, those of the next turn as another', async () => {
  answer = writer => {
    for (const piece of ['one', ' and ', 'two']) writer.write(Buffer.from(piece))
    setImmediate(() => {
      writer.write(Buffer.from('three'))
      setImmediate(() => writer.end())
    })
  }
  assert.equal(bodyOf(await exchange('1.1')), 'b\r\none and two\r\n5\r\nthree\r\n0\r\n\r\n')
})

test('the last piece and the end are sent together', async () => {
  answer = writer => {
    writer.write(Buffer.from('a'))
    writer.end(Buffer.from('b'))
  }
  assert.equal(bodyOf(await exchange('1.1')), '2\r\nab\r\n0\r\n\r\n')
})

test('a response without pieces ends, and empty pieces do not become chunks, which would end it', async () => {
  answer = writer => {
    writer.write(Buffer.alloc(0))
    setImmediate(() => writer.end(Buffer.alloc(0)))
  }
  assert.equal(bodyOf(await exchange('1.1')), '0\r\n\r\n')
})

test('an HTTP/1.0 client gets the bytes without chunks', async () => {
  answer = writer => {
    writer.write(Buffer.from('plain'))
    setImmediate(() => writer.end(Buffer.from(' bytes')))
  }
  assert.equal(bodyOf(await exchange('1.0')), 'plain bytes')
})

test('a connection serves the next request after a streamed answer', async () => {
  answer = writer => writer.end(Buffer.from('x'))
  const received = await exchange('1.1', 3)
  assert.equal(received.match(/HTTP\/1\.1 200/g)?.length, 3)
  assert.equal(received.match(/1\r\nx\r\n0\r\n\r\n/g)?.length, 3)
})

test('S51: write returns false for a slow reader, and drain follows once it catches up', async () => {
  const piece = Buffer.alloc(64 * 1024, 'x')
  const count = 400
  const full = Promise.withResolvers<void>()
  let drains = 0
  answer = (writer, response) => {
    let left = count
    const send = () => {
      while (left > 0) {
        left--
        if (writer.write(piece)) continue
        full.resolve()
        drains++
        return void response.once('drain', send)
      }
      writer.end()
    }
    send()
  }
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  await full.promise
  const received = bodyOf(await text(socket))
  assert.ok(drains > 0)
  assert.equal(received.replaceAll(/[^x]/g, '').length, count * piece.length)
})
