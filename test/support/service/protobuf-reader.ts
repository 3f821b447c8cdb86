// Reads the protocol-buffers wire format, for what the service sends in it. Source: protobuf.dev, Encoding.

/** Values of a message by field number: numbers of 64 bits, or bytes. */
export type Message = ReadonlyMap<number, readonly (bigint | Buffer)[]>

export function readMessage(bytes: Buffer): Message {
  const fields = new Map<number, (bigint | Buffer)[]>()
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++)
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }
  const fieldValue = (type: number): bigint | Buffer => {
    if (type === 0) return varint()
    if (type === 1) {
      at += 8
      return bytes.readBigUInt64LE(at - 8)
    }
    if (type !== 2) throw new Error(`unexpected wire type ${type}`)
    const length = Number(varint())
    at += length
    if (at > bytes.length) throw new Error(`a field of ${length} bytes exceeds its message`)
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const values = fields.get(tag >> 3) ?? []
    values.push(fieldValue(tag & 7))
    fields.set(tag >> 3, values)
  }
  return fields
}

/** Returns the messages in a field. */
export const messagesIn = (message: Message | undefined, field: number): Message[] =>
  buffersIn(message, field).map(readMessage)

export const textIn = (message: Message | undefined, field: number): string | undefined =>
  buffersIn(message, field)[0]?.toString()

export const hexIn = (message: Message | undefined, field: number): string | undefined =>
  buffersIn(message, field)[0]?.toString('hex')

export const numberIn = (message: Message | undefined, field: number): bigint | undefined =>
  (message?.get(field) ?? []).find(value => typeof value === 'bigint')

export const doubleIn = (message: Message | undefined, field: number): number | undefined => {
  const bits = numberIn(message, field)
  return bits === undefined ? undefined : Buffer.from(new BigUint64Array([bits]).buffer).readDoubleLE()
}

const buffersIn = (message: Message | undefined, field: number): Buffer[] =>
  (message?.get(field) ?? []).filter(value => Buffer.isBuffer(value))
