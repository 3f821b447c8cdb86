/** Bytes that are looked at in one turn: a few milliseconds. */
const bytesOfTurn = 32 * 1024
/** A loop is faster than a call for pieces that are shorter. */
const shortPiece = 32

/** Where a byte of the search goes on after a mismatch (Knuth, Morris and Pratt): linear for every text and pattern. */
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

/** Calls `found` with the start of each occurrence; none overlaps another. */
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
  /** Not empty. */
  readonly from: Buffer
  readonly to: Buffer
  /** Judges the number of places and the size of the result before that is built; throws to refuse. */
  readonly check: (places: number, resultBytes: number) => void
}

/** The bytes with every `from` replaced by `to`. Its memory is the result, and four times the size of `from`. */
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
