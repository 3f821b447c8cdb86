import type { BatchClaim, NewCall, NewLine } from './batch-store.ts'

const maxLines = 500
const maxBytes = 4 * 1024 * 1024

/** Returns a writer that stores lines in groups, so that a batch is never in memory as a whole. */
export function createLineWriter(add: (lines: readonly NewLine[]) => Promise<void>) {
  let waiting: NewLine[] = []
  let bytes = 0
  let lines = 0
  let errored = 0

  async function flush(): Promise<void> {
    if (waiting.length === 0) return
    const group = waiting
    waiting = []
    bytes = 0
    await add(group)
  }

  return {
    async add(custom_id: string, line: NewCall): Promise<void> {
      waiting.push({ seq: lines++, custom_id, ...line })
      if ('error' in line) errored++
      else bytes += line.request.length
      if (waiting.length >= maxLines || bytes >= maxBytes) await flush()
    },
    /** Stores the rest. Returns the number of all lines, and of those with an error. */
    async end(): Promise<{ readonly lines: number; readonly errored: number }> {
      await flush()
      return { lines, errored }
    },
  }
}

export type LineWriter = ReturnType<typeof createLineWriter>

/** Returns a writer of the lines of a claimed batch. */
export const lineWriterOf = (
  store: { addLines(by: BatchClaim, lines: readonly NewLine[]): Promise<void> },
  claim: BatchClaim,
): LineWriter => createLineWriter(lines => store.addLines(claim, lines))
