import { createRequire } from 'node:module'
import { crc32 } from 'node:zlib'
import type { EventStreamCodec } from '@smithy/core/event-streams'

/** Message of an AWS event stream. */
export interface AwsFrame {
  /** The `:event-type`; for an exception or an error its name, such as `throttlingException`. */
  readonly event: string | undefined
  /** Size of the message in bytes. */
  readonly bytes: number
  /** The payload, which is JSON text. */
  readonly data: string
}

/** Error for bytes that are not an AWS event stream. `frames` are the valid ones before the error in the same chunk. */
export class EventStreamError extends Error {
  readonly frames: readonly AwsFrame[]

  constructor(message: string, frames: readonly AwsFrame[], cause?: unknown) {
    super(message, { cause })
    this.name = 'EventStreamError'
    this.frames = frames
  }
}

/** Total length, length of the headers and checksum of both. */
const preludeBytes = 12
/** A prelude and the checksum of the message. */
const minFrameBytes = 16
/** Limit of AWS. */
const maxFrameBytes = 16 * 1024 * 1024

/**
 * Returns a parser of `application/vnd.amazon.eventstream` for chunks that are split at any place. It verifies all
 * checksums. It throws EventStreamError for anything else and for frames over 16 MiB, and for every chunk after that.
 * It copies each byte at most twice and buffers at most one frame.
 */
export function createAwsEventStream(): (chunk: Uint8Array) => readonly AwsFrame[] {
  const codec = loadCodec()
  let waiting: Buffer[] = []
  let waitingBytes = 0
  /** Size of the current frame; the size of a prelude until that is known. */
  let neededBytes = preludeBytes
  let fault: string | undefined

  const fail = (message: string, frames: readonly AwsFrame[], cause?: unknown): never => {
    fault = message
    waiting = []
    throw new EventStreamError(message, frames, cause)
  }

  /** Returns the complete frames and buffers the rest. */
  const cut = (bytes: Buffer): readonly AwsFrame[] => {
    const frames: AwsFrame[] = []
    let at = 0
    neededBytes = preludeBytes
    while (bytes.length - at >= preludeBytes) {
      const length = lengthOf(bytes.subarray(at, at + preludeBytes))
      if (length === undefined) return fail('invalid frame prelude', frames)
      neededBytes = length
      if (bytes.length - at < length) break
      try {
        frames.push(decoded(codec, bytes.subarray(at, at + length)))
      } catch (cause) {
        return fail('invalid frame', frames, cause)
      }
      at += length
      neededBytes = preludeBytes
    }
    waiting = at < bytes.length ? [bytes.subarray(at)] : []
    waitingBytes = bytes.length - at
    return frames
  }

  return chunk => {
    if (fault !== undefined) throw new EventStreamError(fault, [])
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    waiting.push(bytes)
    waitingBytes += bytes.length
    if (waitingBytes < neededBytes) return []
    return cut(waiting.length === 1 ? bytes : Buffer.concat(waiting, waitingBytes))
  }
}

/**
 * Returns the frame length in a prelude; undefined for an invalid one, whose length could block the parser for ever.
 */
function lengthOf(prelude: Buffer): number | undefined {
  const length = prelude.readUInt32BE(0)
  const headersLength = prelude.readUInt32BE(4)
  if (length < minFrameBytes || length > maxFrameBytes || headersLength > length - minFrameBytes) return undefined
  return crc32(prelude.subarray(0, 8)) === prelude.readUInt32BE(8) ? length : undefined
}

function decoded(codec: EventStreamCodec, bytes: Buffer): AwsFrame {
  const { headers, body } = codec.decode(bytes)
  const length = bytes.length
  const text = (name: string): string | undefined => {
    const header = headers[name]
    return header?.type === 'string' ? header.value : undefined
  }
  const data = utf8(body)
  switch (text(':message-type')) {
    case 'exception':
      return { event: text(':exception-type') ?? 'exception', data, bytes: length }
    case 'error':
      // Errors are the only messages with their text in headers.
      return {
        event: text(':error-code') ?? 'error',
        data: JSON.stringify({ message: text(':error-message') ?? '' }),
        bytes: length,
      }
    default:
      return { event: text(':event-type'), data, bytes: length }
  }
}

/** Returns the exception message that ends a stream. */
export function awsException(name: string, message: string): Buffer {
  const text = (value: string) => ({ type: 'string', value }) as const
  const headers = {
    ':exception-type': text(name),
    ':content-type': text('application/json'),
    ':message-type': text('exception'),
  }
  return Buffer.from(loadCodec().encode({ headers, body: Buffer.from(JSON.stringify({ message })) }))
}

const utf8 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')

type Library = typeof import('@smithy/core/event-streams')

const require = createRequire(import.meta.url)
/** A constant, assigned on first use. */
let codec: EventStreamCodec | undefined

/** Loads the library for the first stream: it takes 13 MB, and most servers never call AWS. */
function loadCodec(): EventStreamCodec {
  if (!codec) {
    const library: Library = require('@smithy/core/event-streams')
    codec = new library.EventStreamCodec(utf8ish, text => Buffer.from(text, 'utf8'))
  }
  return codec
}

const utf8ish = (input: Uint8Array | string): string => (typeof input === 'string' ? input : utf8(input))
