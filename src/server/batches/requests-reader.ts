import { type AppError, invalid } from '../platform/errors.ts'
import { jsonOr } from '../platform/json.ts'

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openArray = 0x5b
const backslash = 0x5c
const closeArray = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

const isBlank = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)
const opens = (byte: number): boolean => byte === openObject || byte === openArray
const closes = (byte: number): boolean => byte === closeObject || byte === closeArray

const maxNameBytes = 1_000

interface Reading {
  /** Maximum bytes of a request. */
  readonly maxBytes: number
  /** Called with the name of each member other than `requests`. */
  readonly onOther: (name: string) => void
}

/**
 * Yields the requests of `{"requests": [...]}` one by one, as text, while the body arrives: a body of 256 MB is never
 * in memory as a whole. Throws `invalid_request`.
 */
export async function* requestsIn(body: AsyncIterable<Buffer>, { maxBytes, onOther }: Reading): AsyncGenerator<string> {
  const text = new JsonText(body)
  await text.take(openObject, 'a JSON object')
  let isGiven = false
  if (!(await text.takes(closeObject))) {
    do {
      const name = await nameIn(text)
      if (name !== 'requests') {
        onOther(name)
        await text.skipValue()
        continue
      }
      if (isGiven) throw invalid('requests is given twice')
      isGiven = true
      yield* elementsIn(text, maxBytes)
    } while (await text.takes(comma))
    await text.take(closeObject, 'a comma or the end of the object')
  }
  await text.takeEnd()
  if (!isGiven) throw invalid('requests is required: an array of {custom_id, params}')
}

async function nameIn(text: JsonText): Promise<string> {
  if ((await text.next()) !== quote) throw notJson('the name of a member')
  const name = jsonOr(await text.value(maxNameBytes, 'the name of a member'), undefined)
  if (typeof name !== 'string') throw notJson('the name of a member')
  await text.take(colon, 'a colon')
  return name
}

async function* elementsIn(text: JsonText, maxBytes: number): AsyncGenerator<string> {
  if (!(await text.takes(openArray))) throw invalid('requests must be an array of {custom_id, params}')
  if (await text.takes(closeArray)) return
  let count = 0
  do {
    const name = `requests[${count++}]`
    if ((await text.next()) !== openObject) throw invalid(`${name} must be an object of custom_id and params`)
    yield await text.value(maxBytes, name)
  } while (await text.takes(comma))
  await text.take(closeArray, 'a comma or the end of requests')
}

const notJson = (expected: string): AppError => invalid(`request body is not valid JSON: expected ${expected}`)

/** JSON text that arrives in chunks. Values are found by their brackets and quotes, and parsed by the caller. */
class JsonText {
  readonly #chunks: AsyncIterator<Buffer>
  #chunk: Buffer = Buffer.alloc(0)
  #at = 0

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** Returns the next byte that is not white space, without taking it; undefined at the end. */
  async next(): Promise<number | undefined> {
    for (;;) {
      for (; this.#at < this.#chunk.length; this.#at++) {
        const byte = this.#chunk[this.#at] ?? 0
        if (!isBlank(byte)) return byte
      }
      if (!(await this.#load())) return undefined
    }
  }

  async takes(byte: number): Promise<boolean> {
    if ((await this.next()) !== byte) return false
    this.#at++
    return true
  }

  async take(byte: number, expected: string): Promise<void> {
    if (!(await this.takes(byte))) throw notJson(expected)
  }

  async takeEnd(): Promise<void> {
    if ((await this.next()) !== undefined) throw notJson('nothing after the object')
  }

  /** Takes the next value, which starts with a bracket or a quote. */
  async value(maxBytes: number, name: string): Promise<string> {
    const parts: Buffer[] = []
    let bytes = 0
    await this.#scan(part => {
      bytes += part.length
      if (bytes > maxBytes) throw invalid(`${name} is larger than ${Math.floor(maxBytes / 1024)} KB`)
      parts.push(part)
    })
    return Buffer.concat(parts).toString('utf8')
  }

  async skipValue(): Promise<void> {
    if ((await this.next()) === undefined) throw notJson('a value')
    await this.#scan(() => undefined)
  }

  /** Passes the bytes of the next value to `keep`, in pieces. */
  async #scan(keep: (part: Buffer) => void): Promise<void> {
    const scan = new ValueScan()
    do {
      const end = scan.endIn(this.#chunk, this.#at)
      keep(this.#chunk.subarray(this.#at, end ?? this.#chunk.length))
      this.#at = end ?? this.#chunk.length
      if (end !== undefined) return
    } while (await this.#load())
    throw notJson('the end of a value')
  }

  /** Loads the next chunk; false at the end. */
  async #load(): Promise<boolean> {
    const { value, done } = await this.#chunks.next()
    this.#chunk = done ? Buffer.alloc(0) : value
    this.#at = 0
    return !done
  }
}

/** Finds the end of one value over several chunks. */
class ValueScan {
  #depth = 0
  #isText = false
  #isEscaped = false

  /** Returns the position after the value; undefined when the chunk ends before it. */
  endIn(chunk: Buffer, from: number): number | undefined {
    for (let at = from; at < chunk.length; at++) {
      const end = this.#isText ? this.#afterText(chunk[at] ?? 0) : this.#afterByte(chunk[at] ?? 0)
      if (end !== undefined) return at + end
    }
    return undefined
  }

  /** Takes a byte of a text. Returns 1 when it ends the value. */
  #afterText(byte: number): 1 | undefined {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === backslash) this.#isEscaped = true
    else if (byte === quote) {
      this.#isText = false
      return this.#depth === 0 ? 1 : undefined
    }
    return undefined
  }

  /** Takes any other byte. Returns 1 when it ends the value, and 0 when it follows the value. */
  #afterByte(byte: number): 0 | 1 | undefined {
    if (byte === quote) this.#isText = true
    else if (opens(byte)) this.#depth++
    else if (closes(byte)) {
      if (this.#depth === 0) return 0
      this.#depth--
      return this.#depth === 0 ? 1 : undefined
    } else if (this.#depth === 0 && (byte === comma || isBlank(byte))) return 0
    return undefined
  }
}
