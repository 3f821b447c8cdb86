import { deltaOf, type Preview, previewsOf } from './remote-previews.ts'

/** Characters of pieces that are stored for a reader that does not take them. The rest comes with the whole answer. */
const maxPieceChars = 1_000_000

/** Pieces of answers that were generated since the last `take`. Pieces that follow each other are joined. */
export class Pieces {
  #list: Preview[] = []
  #chars = 0
  #wake: () => void = () => undefined

  add(preview: Preview): void {
    if (preview.type === 'event_delta') this.#addDelta(preview.event_id, preview.delta.content.text)
    else this.#list.push(preview)
  }

  /** Adds an answer with its text so far. */
  addText(id: string, text: string): void {
    for (const preview of previewsOf(id, text)) this.add(preview)
  }

  take(): readonly Preview[] {
    const list = this.#list
    this.#list = []
    this.#chars = 0
    return list
  }

  /** Resolves when there are pieces. */
  wait(): Promise<void> {
    if (this.#list.length > 0) return Promise.resolve()
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }

  #addDelta(id: string, text: string): void {
    this.#chars += text.length
    if (this.#chars > maxPieceChars) return
    const last = this.#list.at(-1)
    const isSame = last?.type === 'event_delta' && last.event_id === id
    const joined = isSame ? last.delta.content.text + text : text
    this.#list.splice(isSame ? -1 : this.#list.length, isSame ? 1 : 0, deltaOf(id, joined))
    this.#wake()
  }
}
