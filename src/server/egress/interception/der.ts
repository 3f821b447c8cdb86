/** Writers of the DER types that certificates consist of. Each returns a whole element. Source: X.690. */

function element(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), lengthOf(content), content])
}

function lengthOf({ length }: Buffer): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const digits = length.toString(16)
  const bytes = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')
  return Buffer.concat([Buffer.from([0x80 + bytes.length]), bytes])
}

export const sequence = (...parts: readonly Buffer[]): Buffer => element(0x30, ...parts)

export const setOf = (part: Buffer): Buffer => element(0x31, part)

/** A positive number from its bytes, most significant first. */
export function integer(bytes: Buffer): Buffer {
  const first = bytes.findIndex(byte => byte !== 0)
  const digits = first < 0 ? Buffer.from([0]) : bytes.subarray(first)
  // A leading bit of 1 would make it negative.
  return element(0x02, ...((digits[0] ?? 0) >= 0x80 ? [Buffer.from([0])] : []), digits)
}

export const isTrue: Buffer = element(0x01, Buffer.from([0xff]))

export const utf8 = (text: string): Buffer => element(0x0c, Buffer.from(text))

export const octets = (...parts: readonly Buffer[]): Buffer => element(0x04, ...parts)

/** `unused` is the number of bits at the end that do not count. */
export const bits = (bytes: Buffer, unused = 0): Buffer => element(0x03, Buffer.from([unused]), bytes)

/** An object identifier such as `2.5.29.15`. */
export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number)
  return element(0x06, Buffer.from([first * 40 + second, ...others.flatMap(base128)]))
}

function base128(value: number): number[] {
  const groups = [value % 128]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) groups.unshift(0x80 + (rest % 128))
  return groups
}

/** A time, to the second. Certificates use the short form until 2049 and the long one after. */
export function time(at: Date): Buffer {
  const digits = `${at.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`
  return at.getUTCFullYear() < 2050 ? element(0x17, Buffer.from(digits.slice(2))) : element(0x18, Buffer.from(digits))
}

/** A member that its number identifies, not its type. Its content is that of `part`, or `part` as a whole. */
export const tagged = (number: number, part: Buffer, form: 'content' | 'whole'): Buffer =>
  element((form === 'whole' ? 0xa0 : 0x80) + number, part)
