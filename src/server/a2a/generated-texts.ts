/** Piece of an answer's text, in the terms of an `artifactUpdate`. */
export interface TextChunk {
  readonly artifactId: string
  readonly text: string
  /** False: replaces what was sent. */
  readonly append: boolean
  readonly lastChunk: boolean
}

/**
 * Answers that are being generated, as far as a stream has sent them, by the id of their future event. Joined, the chunks of an
 * answer are its text, whatever pieces were missed.
 */
export class GeneratedTexts {
  readonly #sent = new Map<string, string>()
  /** Answers that the log has; pieces of them may come later. */
  readonly #stored = new Set<string>()

  /** Announces an answer of which nothing was generated before. */
  begin(artifactId: string): void {
    if (!this.#stored.has(artifactId)) this.#sent.set(artifactId, '')
  }

  /** Returns the chunk of the next piece; undefined when the start of the answer was missed. */
  add(artifactId: string, text: string): TextChunk | undefined {
    const sent = this.#sent.get(artifactId)
    if (sent === undefined || text === '') return undefined
    this.#sent.set(artifactId, sent + text)
    return { artifactId, text, append: sent !== '', lastChunk: false }
  }

  /** Returns the last chunk of an answer with this whole text; undefined when nothing of it was sent. */
  end(artifactId: string, text: string): TextChunk | undefined {
    const sent = this.#sent.get(artifactId)
    this.#sent.delete(artifactId)
    this.#stored.add(artifactId)
    if (!sent) return undefined
    const isRest = text.startsWith(sent)
    return { artifactId, text: isRest ? text.slice(sent.length) : text, append: isRest, lastChunk: true }
  }

  /** Returns chunks that empty the answers that will not be stored: a request failed or was stopped. */
  drop(): TextChunk[] {
    const ids = [...this.#sent.keys()]
    return ids.flatMap(id => this.end(id, '') ?? [])
  }
}
