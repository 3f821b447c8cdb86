/** Writes fields of the protocol-buffers wire format into memory that is used again. Source: protobuf.dev, Encoding. */
export interface ProtobufWriter {
  /** Forgets what was written. */
  clear(): void
  /** A whole number from 0 to 2^53. */
  varint(field: number, value: number): void
  /** A whole number of 64 bits, given as two halves without sign. */
  fixed64(field: number, low: number, high: number): void
  double(field: number, value: number): void
  text(field: number, value: string): void
  /** Bytes, given as hexadecimal digits. */
  hex(field: number, digits: string): void
  /** A message, or bytes. */
  bytes(field: number, value: Uint8Array): void
  /** Fields that were encoded before. */
  raw(encoded: Uint8Array): void
  /** Starts a message of `length` bytes, whose fields are written next. */
  start(field: number, length: number): void
  /** Returns what was written since `clear`. Valid until the next call. */
  written(): Buffer
  /** Returns what was written as a message in `field`. Valid until the next call. */
  asMessage(field: number): Buffer
}

const wireTypes = { varint: 0, fixed64: 1, bytes: 2 } as const
/** Room for the tag and the length of the message. */
const room = 12
const firstSize = 16_384

/** Number of bytes of a whole number from 0 to 2^53. */
export function varintSize(value: number): number {
  if (value < 2 ** 7) return 1
  if (value < 2 ** 14) return 2
  let size = 3
  for (let rest = value / 2 ** 21; rest >= 1; rest /= 128) size++
  return size
}

/** Number of bytes of a text. */
export const textSize = (text: string): number => (isShortAscii(text) ? text.length : Buffer.byteLength(text))

/** Most texts are ids and names, for which a call out of JavaScript would take longer than the work itself. */
function isShortAscii(text: string): boolean {
  if (text.length > 64) return false
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return false
  return true
}

/** Number of bytes of a message or a text in a field below 16. */
export const fieldSize = (length: number): number => 1 + varintSize(length) + length

/** Returns a function that gives the result of `fill` as bytes of their own. */
export function encoded(fill: (writer: ProtobufWriter) => void): Buffer {
  const writer = createProtobufWriter(256)
  fill(writer)
  return Buffer.from(writer.written())
}

/** `digits` has digits and small letters. */
function digitOf(digits: string, at: number): number {
  const code = digits.charCodeAt(at)
  return code < 58 ? code - 48 : code - 87
}

export function createProtobufWriter(size = firstSize): ProtobufWriter {
  let memory = Buffer.allocUnsafeSlow(size)
  let at = room

  function ensure(more: number): void {
    if (at + more + room <= memory.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(memory.length * 2, at + more + room))
    memory.copy(larger, 0, 0, at)
    memory = larger
  }

  function number(value: number): void {
    let rest = value
    while (rest >= 128) {
      memory[at++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    memory[at++] = rest
  }

  const tag = (field: number, type: number): void => number(field * 8 + type)

  function start(field: number, length: number): void {
    ensure(room)
    tag(field, wireTypes.bytes)
    number(length)
  }

  function raw(encodedFields: Uint8Array): void {
    ensure(encodedFields.length)
    memory.set(encodedFields, at)
    at += encodedFields.length
  }

  return {
    clear() {
      at = room
    },
    varint(field, value) {
      ensure(2 * room)
      tag(field, wireTypes.varint)
      number(value)
    },
    fixed64(field, low, high) {
      ensure(2 * room)
      tag(field, wireTypes.fixed64)
      at = memory.writeUInt32LE(low, at)
      at = memory.writeUInt32LE(high, at)
    },
    double(field, value) {
      ensure(2 * room)
      tag(field, wireTypes.fixed64)
      at = memory.writeDoubleLE(value, at)
    },
    text(field, value) {
      const isShort = isShortAscii(value)
      const length = isShort ? value.length : Buffer.byteLength(value)
      start(field, length)
      ensure(length)
      if (isShort) for (let index = 0; index < length; index++) memory[at++] = value.charCodeAt(index)
      else at += memory.write(value, at)
    },
    hex(field, digits) {
      start(field, digits.length / 2)
      ensure(digits.length / 2)
      for (let index = 0; index < digits.length; index += 2)
        memory[at++] = digitOf(digits, index) * 16 + digitOf(digits, index + 1)
    },
    bytes(field, value) {
      start(field, value.length)
      raw(value)
    },
    raw,
    start,
    written: () => memory.subarray(room, at),
    asMessage(field) {
      const end = at
      const length = end - room
      // The tag and the length go into the room before the message.
      const begin = room - fieldSize(length) + length
      at = begin
      tag(field, wireTypes.bytes)
      number(length)
      at = end
      return memory.subarray(begin, end)
    },
  }
}
