import { createHash, randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { every } from '../../platform/timers.ts'
import type { KubernetesApi } from './api.ts'
import { KubernetesError } from './kubernetes-error.ts'

/** Receives what the server sends; called in order. */
interface Receiver {
  message(data: Buffer): void
  /** Called once, when the connection has ended. */
  closed(reason: string): void
}

/** A client connection that sends binary messages. RFC 6455. */
export interface WebSocketConnection {
  /** Resolves when the message has been passed to the operating system; also after the end of the connection. */
  send(data: Buffer): Promise<void>
  /** Stops and continues the delivery of messages. */
  pause(): void
  resume(): void
  close(): void
}

export interface Opening {
  readonly path: string
  readonly protocol: string
  readonly signal: AbortSignal
}

interface Times {
  /** Time between pings; 20,000 by default. */
  readonly pingMs?: number
  /** Time without any data after which the connection counts as lost; 60,000 by default. */
  readonly silenceMs?: number
}

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const
const maxMessageBytes = 4 * 1024 * 1024
const acceptSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Opens a connection. Rejects with `KubernetesError` when the server does not agree on the protocol. */
export async function openWebSocket(
  api: KubernetesApi,
  { path, protocol, signal }: Opening,
  receiver: Receiver,
  times: Times = {},
): Promise<WebSocketConnection> {
  const key = randomBytes(16).toString('base64')
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': key,
    'sec-websocket-version': '13',
    'sec-websocket-protocol': protocol,
  }
  const { response, socket, head } = await api.upgrade({ path, headers, signal })
  const accept = createHash('sha1').update(`${key}${acceptSuffix}`).digest('base64')
  if (response.headers['sec-websocket-accept'] !== accept || response.headers['sec-websocket-protocol'] !== protocol) {
    socket.destroy()
    throw new KubernetesError(
      `server does not support the WebSocket subprotocol ${protocol} (Kubernetes 1.30 or later)`,
    )
  }
  return connectionOver(socket, head, { receiver, times })
}

interface Wiring {
  readonly receiver: Receiver
  readonly times: Times
}

function connectionOver(socket: Duplex, head: Buffer, { receiver, times }: Wiring): WebSocketConnection {
  let [heardMs, isPaused, isClosed] = [performance.now(), false, false]
  const end = (reason: string) => {
    if (isClosed) return
    isClosed = true
    void stopPings()
    socket.destroy()
    receiver.closed(reason)
  }
  const write = (opcode: number, data: Buffer) =>
    new Promise<void>(resolve => {
      if (isClosed) return resolve()
      socket.write(frameOf(opcode, data), () => resolve())
    })
  const silenceMs = times.silenceMs ?? 60_000
  const stopPings = every(times.pingMs ?? 20_000, async () => {
    if (!isPaused && performance.now() - heardMs > silenceMs) return end(`no data for ${silenceMs / 1000} s`)
    // Not awaited: a server that does not read would keep it waiting.
    void write(opcodes.ping, Buffer.alloc(0))
  })
  const read = frameReader({
    message: data => receiver.message(data),
    ping: data => void write(opcodes.pong, data),
    closed: () => end('server closed the connection'),
  })
  const receive = (chunk: Buffer) => {
    heardMs = performance.now()
    try {
      read(chunk)
    } catch (error) {
      end((error as Error).message)
    }
  }
  socket.on('data', receive)
  socket.on('error', error => end(error.message))
  socket.on('close', () => end('connection closed'))
  if (head.length > 0) receive(head)
  return {
    send: data => write(opcodes.binary, data),
    pause() {
      isPaused = true
      socket.pause()
    },
    resume() {
      isPaused = false
      heardMs = performance.now()
      socket.resume()
    },
    close() {
      void write(opcodes.close, Buffer.from([0x03, 0xe8]))
      end('closed')
    },
  }
}

/** Returns a frame of a client: final and masked. */
function frameOf(opcode: number, data: Buffer): Buffer {
  const { length } = data
  const extended = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const header = Buffer.alloc(2 + extended + 4)
  header[0] = 0x80 | opcode
  header[1] = 0x80 | (extended === 0 ? length : extended === 2 ? 126 : 127)
  if (extended === 2) header.writeUInt16BE(length, 2)
  if (extended === 8) header.writeBigUInt64BE(BigInt(length), 2)
  const mask = randomBytes(4)
  mask.copy(header, 2 + extended)
  const masked = Buffer.alloc(length)
  for (let at = 0; at < length; at++) masked[at] = (data[at] ?? 0) ^ (mask[at % 4] ?? 0)
  return Buffer.concat([header, masked])
}

interface FrameHandlers {
  message(data: Buffer): void
  ping(data: Buffer): void
  closed(): void
}

interface Frame {
  readonly isFinal: boolean
  readonly opcode: number
  readonly data: Buffer
  /** Bytes of the whole frame. */
  readonly bytes: number
}

/** Returns a function that reads the frames of a server from chunks. It throws when they are not a WebSocket stream. */
function frameReader(handlers: FrameHandlers): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0)
  let parts: Buffer[] = []
  let partBytes = 0
  const take = ({ isFinal, opcode, data }: Frame) => {
    if (opcode === opcodes.ping) return handlers.ping(data)
    if (opcode === opcodes.pong) return
    if (opcode === opcodes.close) return handlers.closed()
    if (opcode > opcodes.binary) throw new Error('server sent an unknown WebSocket frame')
    parts.push(data)
    partBytes += data.length
    if (partBytes > maxMessageBytes) throw new Error('server sent a WebSocket message of more than 4 MiB')
    if (!isFinal) return
    const message = parts.length === 1 ? data : Buffer.concat(parts)
    parts = []
    partBytes = 0
    handlers.message(message)
  }
  return chunk => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    for (let frame = firstFrame(pending); frame; frame = firstFrame(pending)) {
      pending = pending.subarray(frame.bytes)
      take(frame)
    }
  }
}

/** Returns the first complete frame, or undefined when bytes are missing. */
function firstFrame(bytes: Buffer): Frame | undefined {
  const [first, second] = bytes
  if (first === undefined || second === undefined) return undefined
  if (first & 0x70 || second & 0x80) throw new Error('server sent an invalid WebSocket frame')
  const short = second & 0x7f
  const extended = short === 126 ? 2 : short === 127 ? 8 : 0
  const start = 2 + extended
  if (bytes.length < start) return undefined
  const length = extended === 0 ? short : extended === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  if (length > maxMessageBytes) throw new Error('server sent a WebSocket message of more than 4 MiB')
  if (bytes.length < start + length) return undefined
  const data = bytes.subarray(start, start + length)
  return { isFinal: (first & 0x80) !== 0, opcode: first & 0x0f, data, bytes: start + length }
}
