/** Bytes processed per turn of the event loop, which take a few milliseconds. */
const bytesOfTurn = 32 * 1024
/** Below this length a loop is faster than a call. */
const shortPiece = 32

/** Computes the failure table of Knuth, Morris and Pratt, which makes the search linear for every text and pattern. */
function* fallbacks(wanted: Buffer): Generator<undefined, Int32Array> {
  const table = new Int32Array(wanted.length)
  let matched = 0
  for (let at = 1; at < wanted.length; at++) {
    while (matched > 0 && wanted[at] !== wanted[matched]) matched = table[matched - 1] ?? 0
    if (wanted[at] === wanted[matched]) matched++
    table[at] = matched
    if (at % bytesOfTurn === 0) yield
  }
  return table
}

interface Search {
  readonly bytes: Buffer
  readonly wanted: Buffer
  readonly table: Int32Array
}

/** Calls `found` with the start of each non-overlapping match. */
function* occurrences({ bytes, wanted, table }: Search, found: (start: number) => void): Generator<undefined, void> {
  let matched = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    while (matched > 0 && byte !== wanted[matched]) matched = table[matched - 1] ?? 0
    if (byte === wanted[matched]) matched++
    if (matched === wanted.length) {
      found(at + 1 - matched)
      matched = 0
    }
    if (at % bytesOfTurn === 0) yield
  }
}

export interface Replacement {
  readonly bytes: Buffer
  /** Must not be empty. */
  readonly from: Buffer
  readonly to: Buffer
  /** Called with the number of matches and the size of the result before it is built; throws to reject. */
  readonly check: (places: number, resultBytes: number) => void
}

/** Returns the bytes with every `from` replaced by `to`. Memory: the result, and four times the size of `from`. */
export function* replaceBytes({ bytes, from, to, check }: Replacement): Generator<undefined, Buffer> {
  const search: Search = { bytes, wanted: from, table: yield* fallbacks(from) }
  let places = 0
  yield* occurrences(search, () => {
    places++
  })
  const size = bytes.length + places * (to.length - from.length)
  check(places, size)
  const result = Buffer.allocUnsafe(size)
  let read = 0
  let written = 0
  const put = (source: Buffer, start: number, end: number) => {
    if (end - start < shortPiece) for (let at = start; at < end; at++) result[written + at - start] = source[at] ?? 0
    else source.copy(result, written, start, end)
    written += end - start
  }
  yield* occurrences(search, start => {
    put(bytes, read, start)
    put(to, 0, to.length)
    read = start + from.length
  })
  put(bytes, read, bytes.length)
  return result
}
