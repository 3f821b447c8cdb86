import { crc32 } from 'node:zlib'

/** One message of Amazon's event-stream encoding, with string headers. Source: AWS, event stream encoding. */
export function awsFrame(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(headerBytes))
  const body = Buffer.from(payload)
  const total = 12 + head.length + body.length + 4
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(total, 0)
  prelude.writeUInt32BE(head.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const message = Buffer.concat([prelude, head, body])
  const end = Buffer.alloc(4)
  end.writeUInt32BE(crc32(message), 0)
  return Buffer.concat([message, end])
}

/** An event of that name. */
export const awsEvent = (name: string, value: unknown): Buffer =>
  awsFrame(
    { ':message-type': 'event', ':event-type': name, ':content-type': 'application/json' },
    JSON.stringify(value),
  )

/** A failure in mid-stream. */
export const awsException = (name: string, message: string): Buffer =>
  awsFrame(
    { ':message-type': 'exception', ':exception-type': name, ':content-type': 'application/json' },
    JSON.stringify({ message }),
  )

function headerBytes([name, value]: readonly [string, string]): Buffer {
  const text = Buffer.from(value)
  const size = Buffer.alloc(2)
  size.writeUInt16BE(text.length, 0)
  // Type 7 is a string.
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), size, text])
}
