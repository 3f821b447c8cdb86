const mark = '[secret]'
/** A part of a secret that is this long is taken for an echo of it; shorter ones are found in any text. */
const pieceLength = 6

/**
 * `text` without any part of `secrets`: plain, in base64 or hex, or percent-encoded, in capitals or not. For text that a
 * stranger wrote and a person reads: it rather leaves out too much.
 */
export function withoutEchoes(text: string, secrets: readonly string[]): string {
  const pieces = new Set(secrets.filter(secret => secret !== '').flatMap(piecesOf))
  const lengths = [...new Set([...pieces].map(piece => piece.length))]
  const plain = lowered(text)
  const isEcho = new Array<boolean>(text.length).fill(false)
  for (let at = 0; at < plain.length; at++)
    for (const length of lengths) if (pieces.has(plain.slice(at, at + length))) isEcho.fill(true, at, at + length)
  return [...isEcho.keys()].reduce((rest, at) => {
    if (!isEcho[at]) return rest + text[at]
    return isEcho[at - 1] ? rest : rest + mark
  }, '')
}

/**
 * Takes a secret out of ordinary text: only where all of it stands, since pieces of six characters are found in any long
 * text. Costs a search for each way to write it.
 */
export function wholeEchoes(secret: string) {
  const inJson = JSON.stringify(secret).slice(1, -1)
  // Where one holds another the longer one goes.
  const writings = [...new Set([...writingsOf(secret), inJson])].toSorted((a, b) => b.length - a.length)
  return {
    /** The very same text where the secret is not in it. */
    without: (text: string): string =>
      writings.reduce((rest, writing) => (rest.includes(writing) ? rest.replaceAll(writing, mark) : rest), text),

    /** Where a writing begins that the end of `text` cuts off; the length of `text` when none does. */
    begunAt: (text: string): number => Math.min(...writings.map(writing => beginOf(writing, text))),
  }
}

function beginOf(writing: string, text: string): number {
  const first = writing[0] ?? ''
  let at = text.indexOf(first, Math.max(0, text.length - writing.length + 1))
  while (at >= 0 && !writing.startsWith(text.slice(at))) at = text.indexOf(first, at + 1)
  return at < 0 ? text.length : at
}

const piecesOf = (secret: string): string[] =>
  writingsOf(secret).flatMap(form => {
    if (form.length <= pieceLength) return form.length === 0 ? [] : [lowered(form)]
    const count = form.length - pieceLength + 1
    return Array.from({ length: count }, (_, at) => lowered(form.slice(at, at + pieceLength)))
  })

/** A secret as others may repeat it: plain, percent-encoded, in hex, and the digits of it that any base64 text has. */
function writingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const inBase64 = [0, 1, 2].map(offset => innerBase64(bytes, offset))
  return [
    secret,
    encodeURIComponent(secret),
    bytes.toString('hex'),
    ...inBase64,
    ...inBase64.map(form => form.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}

/** The digits that `bytes` have in any base64 text in which they stand at `offset` of a group of three. */
function innerBase64(bytes: Buffer, offset: number): string {
  const digits = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '')
  const isWhole = (offset + bytes.length) % 3 === 0
  return digits.slice(Math.ceil((offset * 8) / 6), isWhole ? undefined : -1)
}

/** Of ASCII only, so that no character changes its place. */
const lowered = (text: string): string => text.replaceAll(/[A-Z]/g, letter => letter.toLowerCase())
