/** Run of letters, digits and underscores. */
export interface Word {
  readonly start: number
  readonly end: number
  /** In lower case. */
  readonly text: string
}

/** Part of a text. `end` is the offset after its closing quote, if any. */
export interface Part {
  readonly text: string
  readonly end: number
}

const closingQuoteOf: Readonly<Record<string, string>> = { '"': '"', "'": "'", '`': '`', '\u201c': '\u201d' }
const fileQuotes = '`"\''
const clauseWords: ReadonlySet<string> = new Set(['and', 'then'])

/**
 * Parser of a prompt from left to right. Each method reads each character after `at` at most once, so that a hostile
 * prompt cannot take more time than its length times the number of calls.
 */
export class DemoWords {
  readonly #text: string
  /** By start offset. */
  readonly #words = new Map<number, Word>()
  /** End of the last sentence, without its full stop. */
  readonly #lastEnd: number

  constructor(text: string) {
    this.#text = text
    const trimmed = text.trimEnd()
    this.#lastEnd = isOneOf('.!?', trimmed.at(-1)) ? trimmed.slice(0, -1).trimEnd().length : trimmed.length
    for (let at = 0; at < text.length; at++) {
      if (!isWordCharacter(text[at])) continue
      const start = at
      while (isWordCharacter(text[at + 1])) at++
      this.#words.set(start, { start, end: at + 1, text: text.slice(start, at + 1).toLowerCase() })
    }
  }

  /** All words in order. */
  get all(): Iterable<Word> {
    return this.#words.values()
  }

  /** Returns the offset after the blanks at `at`; undefined without blanks. */
  blank(at: number): number | undefined {
    const end = this.#behindBlank(at)
    return end > at ? end : undefined
  }

  /** Returns the offset after a colon with optional blanks before it; `at` without a colon. */
  colon(at: number): number {
    const end = this.#behindBlank(at)
    return this.#text[end] === ':' ? end + 1 : at
  }

  /** Returns the word after the blanks at `at` if it is one of `words`. */
  next(at: number, words: ReadonlySet<string>): Word | undefined {
    const word = this.#words.get(this.blank(at) ?? -1)
    return word && words.has(word.text) ? word : undefined
  }

  /** Returns the word after the blanks at `at`. */
  word(at: number): Word | undefined {
    return this.#words.get(this.blank(at) ?? -1)
  }

  /** Returns the offset after the word at `at` if it is one of `words` and a blank follows; else `at`. */
  skip(at: number, words: ReadonlySet<string>): number {
    const end = this.next(at, words)?.end ?? at
    return isBlank(this.#text[end]) ? end : at
  }

  /** Returns the offset after all consecutive words from `at` on that are in `words`. */
  skipAll(at: number, words: ReadonlySet<string>): number {
    let from = at
    let end = this.skip(from, words)
    while (end > from) {
      from = end
      end = this.skip(from, words)
    }
    return end
  }

  /** Returns the file name with an extension, quoted or not, after the blanks at `at`. */
  file(at: number): Part | undefined {
    const from = this.blank(at)
    if (from === undefined) return undefined
    const start = isOneOf(fileQuotes, this.#text[from]) ? from + 1 : from
    const end = this.#fileEnd(start)
    if (end === undefined) return undefined
    return { text: this.#text.slice(start, end), end: isOneOf(fileQuotes, this.#text[end]) ? end + 1 : end }
  }

  /** Returns the text in quotes at `at`, without the quotes. */
  quoted(at: number): Part | undefined {
    const closing = closingQuoteOf[this.#text[at] ?? '']
    const end = closing === undefined ? -1 : this.#text.indexOf(closing, at + 1)
    return end < 0 ? undefined : { text: this.#text.slice(at + 1, end), end: end + 1 }
  }

  /** Returns the text up to the next blank. */
  solid(at: number): Part | undefined {
    let end = at
    while (end < this.#text.length && !isBlank(this.#text[end])) end++
    return end > at ? { text: this.#text.slice(at, end), end } : undefined
  }

  /** Returns the text up to the end of the clause or of the line. */
  clause(at: number): Part | undefined {
    let end = at
    while (end < this.#text.length && this.#text[end] !== '\n') {
      if (end > at && this.#endsClause(end)) break
      end++
      // Checks for the end of the clause at the first blank of a run only.
      if (isBlank(this.#text[end - 1])) while (this.#text[end] !== '\n' && isBlank(this.#text[end])) end++
    }
    const text = this.#text.slice(at, end).trim()
    return text === '' ? undefined : { text, end }
  }

  #endsClause(at: number): boolean {
    if (at >= this.#lastEnd) return true
    const isMark = isOneOf('.,;!?', this.#text[at])
    const behind = isMark ? at + 1 : at
    if (this.next(behind, clauseWords)) return true
    return isOneOf('.,;', this.#text[at]) && isBlank(this.#text[behind])
  }

  /** Returns the end of a file name: the word after the last full stop between two word characters. */
  #fileEnd(start: number): number | undefined {
    let end: number | undefined
    for (let at = start; isFileCharacter(this.#text[at]); at++) {
      const isEnding = isWordCharacter(this.#text[at]) && this.#text[at - 1] === '.'
      if (isEnding && at - 2 >= start && isWordCharacter(this.#text[at - 2])) end = this.#words.get(at)?.end
    }
    return end
  }

  #behindBlank(at: number): number {
    let end = at
    while (isBlank(this.#text[end])) end++
    return end
  }
}

const isOneOf = (characters: string, character: string | undefined): boolean =>
  character !== undefined && characters.includes(character)

const isWordCharacter = (character: string | undefined): boolean => character !== undefined && /^\w$/.test(character)

const isFileCharacter = (character: string | undefined): boolean =>
  isWordCharacter(character) || isOneOf('./-', character)

const isBlank = (character: string | undefined): boolean => character !== undefined && /^\s$/.test(character)
