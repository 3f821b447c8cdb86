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

/** Removes secrets from ordinary text. */
export type WholeEchoes = ReturnType<typeof wholeEchoes>

/**
 * Takes secrets out of ordinary text: only where all of one stands, since pieces of six characters are found in any long
 * text. Costs a search for each way to write them.
 */
export function wholeEchoes(secrets: readonly string[]) {
  const writings = wholeWritings(secrets)
  const minLength = Math.min(...writings.map(({ length }) => length))
  const withoutCutEnd = (text: string): string => {
    const end = text.length - pieceLength + 1
    const at = writings.reduce((first, writing) => Math.min(first, beginOf(writing, text, end)), end)
    return at < end ? text.slice(0, at) + mark : text
  }
  return {
    /** The very same text where no secret is in it. */
    without(text: string): string {
      if (text.length < minLength) return text
      return writings.reduce((rest, writing) => (rest.includes(writing) ? rest.replaceAll(writing, mark) : rest), text)
    },

    /** Where a writing begins that the end of `text` cuts off; the length of `text` when none does. */
    begunAt: (text: string): number =>
      writings.reduce((first, writing) => Math.min(first, beginOf(writing, text)), text.length),

    /** The text without the writing that its end cuts off, if at least six characters of that are there. */
    withoutCutEnd,

    /** True when a secret is in the text, or begins there and is cut off by its end. */
    isIn: (text: string): boolean => writings.some(writing => text.includes(writing)) || withoutCutEnd(text) !== text,
  }
}

/** Every way in which secrets may stand in text as a whole. Where one holds another the longer one comes first. */
export function wholeWritings(secrets: readonly string[]): readonly string[] {
  const writings = secrets
    .filter(secret => secret !== '')
    .flatMap(secret => [...writingsOf(secret), ...percentForms(secret)])
  const escaped = writings.flatMap(escapedForms)
  return [...new Set([...writings, ...escaped])].toSorted((a, b) => b.length - a.length)
}

/** Percent-encoded as strictly as an encoder may: all but letters and digits, and every byte. */
function percentForms(secret: string): string[] {
  const strict = encodeURIComponent(secret).replaceAll(/[-_.!~*'()]/g, percentOf)
  const every = [...Buffer.from(secret)].map(byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
  return [strict, every].flatMap(form => [form, inLowerHex(form)])
}

const percentOf = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

const inLowerHex = (form: string): string => form.replaceAll(/%[0-9A-F]{2}/g, digits => digits.toLowerCase())

/** As writers of JSON escape a text in different ways, and as base64 stands in a URL. */
function escapedForms(writing: string): string[] {
  const inUrl = encodeURIComponent(writing)
  const inHtml = (isUpper: boolean) =>
    writing.replaceAll(/[+&<>'"`]/g, character => {
      const code = character.charCodeAt(0).toString(16).padStart(4, '0')
      return `\\u${isUpper ? code.toUpperCase() : code}`
    })
  return [
    JSON.stringify(writing).slice(1, -1),
    writing.replaceAll('/', '\\/'),
    inHtml(true),
    inHtml(false),
    inUrl,
    inLowerHex(inUrl),
  ]
}

/** Before `end`; the length of `text` when none begins there. */
function beginOf(writing: string, text: string, end = text.length): number {
  const first = writing[0] ?? ''
  let at = text.indexOf(first, Math.max(0, text.length - writing.length + 1))
  while (at >= 0 && at < end && !writing.startsWith(text.slice(at))) at = text.indexOf(first, at + 1)
  return at < 0 || at >= end ? text.length : at
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
    inLowerHex(encodeURIComponent(secret)),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
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
