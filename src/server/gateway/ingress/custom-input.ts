import { jsonOr, recordOf, textIn } from '../../platform/json.ts'

/** Reads the text out of the JSON `{"input": "..."}` while it is still coming. */
export interface CustomInput {
  /** Takes more of the JSON; returns what it adds to the text. */
  push(json: string): string
  /** The JSON is complete: the rest of the text. */
  end(): string
  /** The text so far. */
  readonly text: string
}

/** A wrapping that begins later than this is read at the end: each piece would be searched from the start again. */
const maxOpeningLength = 1_000
const opening = /^\s*\{\s*"input"\s*:\s*"/

/** A model that wraps its text otherwise is read at the end; what it wrote is the text then. */
export function createCustomInput(): CustomInput {
  let json = ''
  /** The place behind what was decoded; undefined before the text has begun. */
  let at: number | undefined
  let isClosed = false
  let text = ''

  const decodeMore = (): string => {
    if (at === undefined || isClosed) return ''
    const { end, closed } = safeEnd(json, at)
    const added = textIn(jsonOr(`"${json.slice(at, end)}"`, '')) ?? ''
    at = end
    isClosed = closed
    text += added
    return added
  }

  return {
    get text() {
      return text
    },
    push(more) {
      json += more
      if (at === undefined && json.length - more.length < maxOpeningLength) at = opening.exec(json)?.[0].length
      return decodeMore()
    },
    end() {
      const value = jsonOr(json, undefined)
      const whole = textIn(recordOf(value)['input']) ?? (text === '' ? json : text)
      const rest = whole.startsWith(text) ? whole.slice(text.length) : ''
      text += rest
      return rest
    },
  }
}

/** How far the string at `from` can be decoded: never into half an escape, nor half a pair of surrogates. */
function safeEnd(json: string, from: number): { readonly end: number; readonly closed: boolean } {
  let at = from
  while (at < json.length) {
    const character = json[at]
    if (character === '"') return { end: at, closed: true }
    const length = character === '\\' ? escapeLength(json, at) : 1
    if (at + length > json.length) break
    at += length
  }
  return { end: at, closed: false }
}

/** Characters of the escape at `at`; a pair of surrogates counts as one escape. */
function escapeLength(json: string, at: number): number {
  if (at + 1 < json.length && json[at + 1] !== 'u') return 2
  const isHigh = /^\\u[dD][89abAB]/.test(json.slice(at, at + 4))
  return isHigh ? 12 : 6
}
