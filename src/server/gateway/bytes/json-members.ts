import { skipBlank, stringEnd } from './splice.ts'

/** A member of an object, or an element of an array, as it stands in a JSON text. */
export interface Member {
  /** Escapes resolved; the index for an element. */
  readonly key: string
  /** Where the key begins; for an element the same as `valueStart`. */
  readonly start: number
  readonly valueStart: number
  /** Behind the value; commas and white space follow. */
  readonly end: number
}

const quote = 0x22
const comma = 0x2c
const openArray = 0x5b
const closeArray = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

/** The members of the object or array that begins at `at` in a valid JSON text; none for any other value. */
export function membersAt(body: Buffer, at: number): readonly Member[] {
  const isArray = body[at] === openArray
  if (!isArray && body[at] !== openObject) return []
  const members: Member[] = []
  let start = skipBlank(body, at + 1)
  while (start < body.length && body[start] !== closeObject && body[start] !== closeArray) {
    const keyEnd = isArray ? start : stringEnd(body, start)
    const key = isArray ? String(members.length) : (JSON.parse(body.toString('utf8', start, keyEnd)) as string)
    const valueStart = isArray ? start : skipBlank(body, skipBlank(body, keyEnd) + 1)
    const end = valueEnd(body, valueStart)
    members.push({ key, start, valueStart, end })
    const next = skipBlank(body, end)
    start = body[next] === comma ? skipBlank(body, next + 1) : next
  }
  return members
}

/** The place behind the value that begins at `at`. */
function valueEnd(body: Buffer, at: number): number {
  const byte = body[at]
  if (byte === quote) return stringEnd(body, at)
  return byte === openObject || byte === openArray ? containerEnd(body, at) : scalarEnd(body, at)
}

function containerEnd(body: Buffer, at: number): number {
  let depth = 0
  for (let place = at; place < body.length; place++) {
    const byte = body[place]
    if (byte === quote) place = stringEnd(body, place) - 1
    else if (byte === openObject || byte === openArray) depth++
    else if (byte === closeObject || byte === closeArray) {
      depth--
      if (depth === 0) return place + 1
    }
  }
  return body.length
}

function scalarEnd(body: Buffer, at: number): number {
  let place = at
  while (place < body.length && !endsScalar(body[place])) place++
  return place
}

const endsScalar = (byte: number | undefined): boolean =>
  byte === comma || byte === closeObject || byte === closeArray || (byte !== undefined && byte <= 0x20)
