import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

interface Handlers {
  message(data: Buffer): void
  closed(): void
}

/** The server's end of a WebSocket. */
export interface ServedSocket {
  send(data: Buffer): void
  /** Ends the connection in order. */
  close(): void
  /** Ends it as a crash does. */
  destroy(): void
  /** Sends bytes that are not a frame. */
  sendRaw(data: Buffer): void
}

const suffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Accepts an upgrade with one of the protocols that the client offers. */
export function acceptWebSocket(
  { headers }: IncomingMessage,
  socket: Duplex,
  { protocol, handlers }: { protocol: string; handlers: Handlers },
): ServedSocket {
  const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${suffix}`).digest('base64')
  socket.write(
    [
      'HTTP/1.1 101 Switching Protocols',
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Accept: ${accept}`,
      `Sec-WebSocket-Protocol: ${protocol}`,
      '\r\n',
    ].join('\r\n'),
  )
  let pending = Buffer.alloc(0)
  let isClosed = false
  const closed = () => {
    if (isClosed) return
    isClosed = true
    handlers.closed()
  }
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    for (let frame = firstFrame(pending); frame; frame = firstFrame(pending)) {
      pending = pending.subarray(frame.bytes)
      if (frame.opcode === 9) socket.write(frameOf(10, frame.data))
      if (frame.opcode === 8) socket.end()
      if (frame.opcode <= 2) handlers.message(frame.data)
    }
  })
  socket.on('error', closed)
  socket.on('close', closed)
  return {
    send: data => void (isClosed || socket.write(frameOf(2, data))),
    close() {
      if (isClosed) return
      socket.end(frameOf(8, Buffer.from([0x03, 0xe8])))
    },
    destroy: () => void socket.destroy(),
    sendRaw: data => void socket.write(data),
  }
}

function firstFrame(bytes: Buffer) {
  if (bytes.length < 2) return undefined
  const short = (bytes[1] ?? 0) & 0x7f
  const extended = short === 126 ? 2 : short === 127 ? 8 : 0
  const start = 2 + extended + 4
  if (bytes.length < start) return undefined
  const length = extended === 0 ? short : extended === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  if (bytes.length < start + length) return undefined
  const mask = bytes.subarray(start - 4, start)
  const data = Buffer.from(bytes.subarray(start, start + length)).map((byte, at) => byte ^ (mask[at % 4] ?? 0))
  return { opcode: (bytes[0] ?? 0) & 0x0f, data: Buffer.from(data), bytes: start + length }
}

function frameOf(opcode: number, data: Buffer): Buffer {
  const { length } = data
  if (length < 126) return Buffer.concat([Buffer.from([0x80 | opcode, length]), data])
  const header = Buffer.alloc(4)
  header[0] = 0x80 | opcode
  header[1] = 126
  header.writeUInt16BE(length, 2)
  if (length < 65_536) return Buffer.concat([header, data])
  throw new Error('the fake sends no frames of 64 KiB or more')
}
