/** Text that is written in parts: collapses white space, and separates blocks by line ends. */
export class TextLayout {
  readonly #maxChars: number
  readonly #parts: string[] = []
  #length = 0
  /** Line ends before the next text. */
  #breaks = 0
  #hasSpace = false
  #prefix = ''
  #isCode = false
  /** Open link without text so far; returns its address. */
  #awaited: (() => string | undefined) | undefined
  /** Address of the open link whose text has begun. */
  #address: string | undefined

  constructor(maxChars: number) {
    this.#maxChars = maxChars
  }

  get isFull(): boolean {
    return this.#length >= this.#maxChars
  }

  text(): string {
    this.closeLink()
    this.closeCode()
    return this.#parts.join('').slice(0, this.#maxChars).trim()
  }

  write(text: string): void {
    if (this.#isCode) {
      if (text !== '') this.#put(text)
      return
    }
    const line = text.replaceAll(/\s+/g, ' ')
    const trimmed = line.trim()
    if (trimmed === '') {
      this.#hasSpace ||= line !== ''
      return
    }
    this.#hasSpace ||= line.startsWith(' ')
    this.#put(trimmed)
    this.#hasSpace = line.endsWith(' ')
  }

  /** Requests at least `count` line ends before the next text. */
  breakLines(count: number): void {
    this.#breaks = Math.max(this.#breaks, count)
  }

  /** Writes `text` before the next text. */
  prefix(text: string): void {
    this.#prefix = text
  }

  /** Separates the cells of a row. */
  cell(): void {
    if (this.#breaks === 0 && this.#length > 0) this.#prefix = ' | '
  }

  openCode(): void {
    if (this.#isCode) return
    this.breakLines(2)
    this.#put('```\n')
    this.#isCode = true
  }

  closeCode(): void {
    if (!this.#isCode) return
    this.#put('\n```')
    this.#isCode = false
  }

  /** `address` is called if the link has a text; it returns undefined for one that is not shown as a link. */
  openLink(address: () => string | undefined): void {
    this.closeLink()
    if (!this.#isCode) this.#awaited = address
  }

  closeLink(): void {
    if (this.#address !== undefined) this.#add(`](${this.#address})`)
    this.#address = undefined
    this.#awaited = undefined
  }

  #put(text: string): void {
    if (this.#length > 0) {
      if (this.#breaks > 0) this.#add('\n'.repeat(this.#breaks))
      else if (this.#hasSpace && !this.#isCode) this.#add(' ')
    }
    this.#breaks = 0
    this.#hasSpace = false
    if (this.#prefix !== '') this.#add(this.#prefix)
    this.#prefix = ''
    if (this.#awaited) {
      this.#address = this.#awaited()
      this.#awaited = undefined
      if (this.#address !== undefined) this.#add('[')
    }
    this.#add(text)
  }

  #add(text: string): void {
    this.#parts.push(text)
    this.#length += text.length
  }
}
