const mark = '[secret]'
/** Parts of a secret with this length count as an echo of it; shorter ones occur in any text. */
const pieceLength = 6
const minSecretLength = 8

/**
 * Reports whether a secret can be searched for in ordinary text. Shorter values, such as a version, occur in any text, and redacting
 * them would reveal them. Our choice.
 */
export const isLongEnough = (secret: string): boolean => secret.length >= minSecretLength

/**
 * Returns `text` without any part of `secrets`: plain, in base64, hex or percent-encoding, in any case. For external
 * text that a person reads: removes too much rather than too little.
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
 * Returns functions that remove complete secrets from ordinary text, because parts of six characters occur in any long
 * text. Costs one search per encoding of each secret.
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
    /** Returns the text without secrets; the same string if it has none. */
    without(text: string): string {
      if (text.length < minLength) return text
      return writings.reduce((rest, writing) => (rest.includes(writing) ? rest.replaceAll(writing, mark) : rest), text)
    },

    /**
     * Returns the start of an encoded secret that `text` truncates at its end; the length of `text` if there is none.
     */
    begunAt: (text: string): number =>
      writings.reduce((first, writing) => Math.min(first, beginOf(writing, text)), text.length),

    /** Returns the text without a truncated encoded secret of at least six characters at its end. */
    withoutCutEnd,

    /** True if the text contains a secret, or ends with a truncated one. */
    isIn: (text: string): boolean => writings.some(writing => text.includes(writing)) || withoutCutEnd(text) !== text,
  }
}

/** Returns all encodings of the secrets, longest first, because one may contain another. */
export function wholeWritings(secrets: readonly string[]): readonly string[] {
  const writings = secrets
    .filter(secret => secret !== '')
    .flatMap(secret => [...writingsOf(secret), ...percentForms(secret)])
  const escaped = writings.flatMap(escapedForms)
  return [...new Set([...writings, ...escaped])].toSorted((a, b) => b.length - a.length)
}

/** Percent-encoding in its strictest forms: everything except letters and digits, and every byte. */
function percentForms(secret: string): string[] {
  const strict = encodeURIComponent(secret).replaceAll(/[-_.!~*'()]/g, percentOf)
  const every = [...Buffer.from(secret)].map(byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
  return [strict, every].flatMap(form => [form, inLowerHex(form)])
}

const percentOf = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

const inLowerHex = (form: string): string => form.replaceAll(/%[0-9A-F]{2}/g, digits => digits.toLowerCase())

/** Forms in which JSON serialisers escape a text, and base64 in a URL. */
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

/** Returns the start before `end`; the length of `text` if there is none. */
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

/**
 * Encodings of a secret: plain, percent-encoded, hex, and the base64 characters that are independent of its position.
 */
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

/**
 * Returns the base64 characters of `bytes` at `offset` of a group of three that do not depend on the surrounding bytes.
 */
function innerBase64(bytes: Buffer, offset: number): string {
  const digits = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '')
  const isWhole = (offset + bytes.length) % 3 === 0
  return digits.slice(Math.ceil((offset * 8) / 6), isWhole ? undefined : -1)
}

/** ASCII only, so that positions do not change. */
const lowered = (text: string): string => text.replaceAll(/[A-Z]/g, letter => letter.toLowerCase())
