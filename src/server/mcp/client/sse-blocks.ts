/** One event of a stream as it was received, with its last line end. */
export interface SseBlock {
  readonly raw: string
  /** The data lines, joined by newlines; empty for a comment. */
  readonly data: string
  readonly hasId: boolean
}

/** An event of a stream is longer than the limit. */
export class SseBlockTooLong extends Error {
  override readonly name = 'SseBlockTooLong'
}

/** An empty line. A CR before a LF is not an end of its own. */
const blockEnd = /(\r\n|\n|\r(?!\n))(\r\n|\n|\r(?!\n))/g

/**
 * Returns a function that takes chunks of text and yields complete events with their exact text, so that a relay can
 * pass them on unchanged. The rest at the end of the stream is `rest()`.
 */
export function sseBlocks(maxLength: number) {
  let text = ''
  return {
    *read(chunk: string): Generator<SseBlock> {
      let searched = Math.max(0, text.length - 3)
      text += chunk
      let start = 0
      for (;;) {
        blockEnd.lastIndex = searched
        const match = blockEnd.exec(text)
        if (!match) break
        const end = match.index + match[0].length
        yield blockOf(text.slice(start, end))
        start = end
        searched = end
      }
      text = text.slice(start)
      if (text.length > maxLength) throw new SseBlockTooLong(`an event is longer than ${maxLength} characters`)
    },
    rest: () => text,
  }
}

function blockOf(raw: string): SseBlock {
  const lines = raw.split(/\r\n|\n|\r/)
  const data = lines.filter(line => /^data(:|$)/.test(line)).map(line => line.replace(/^data:? ?/, ''))
  return { raw, data: data.join('\n'), hasId: lines.some(line => /^id:/.test(line)) }
}
