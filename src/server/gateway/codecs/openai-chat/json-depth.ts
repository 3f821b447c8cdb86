const quote = 0x22
const backslash = 0x5c
const openingBracket = 0x5b
const closingBracket = 0x5d
const openingBrace = 0x7b
const closingBrace = 0x7d

/** Follows the JSON text of an object or array as it comes, only to know when its last bracket has closed. */
export class JsonDepth {
  #depth = 0
  #hasBegun = false
  #isInText = false
  #isEscaped = false

  push(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (this.#isInText) this.#inText(code)
      else this.#outside(code)
    }
  }

  /** True from the first bracket on. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Stays false for what is no object or array. */
  get isComplete(): boolean {
    return this.#hasBegun && this.#depth === 0
  }

  #inText(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (code === backslash) this.#isEscaped = true
    else if (code === quote) this.#isInText = false
  }

  #outside(code: number): void {
    if (code === quote) this.#isInText = true
    else if (code === openingBrace || code === openingBracket) {
      this.#depth++
      this.#hasBegun = true
    } else if (code === closingBrace || code === closingBracket) this.#depth--
  }
}
