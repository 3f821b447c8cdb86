import { sizeOf } from '../../../parts/diff-lines.ts'
import { diffLines } from '../../../parts/line-changes.ts'
import { editsOf } from '../../../session-log/file-edits.ts'
import type { ToolCall } from '../../../session-log/view.ts'

type EditSummary = ReturnType<typeof sizeOf>

const summaries = new WeakMap<object, EditSummary | null>()

/** Returns the numbers of lines that the call of an editing tool adds and removes; undefined for other calls. */
export function editSummary(call: Pick<ToolCall, 'name' | 'server' | 'input'>): EditSummary | undefined {
  const { input } = call
  if (typeof input !== 'object' || input === null) return undefined
  const known = summaries.get(input)
  if (known !== undefined) return known ?? undefined
  const summary = summarize(call)
  summaries.set(input, summary ?? null)
  return summary
}

function summarize(call: Pick<ToolCall, 'name' | 'server' | 'input'>): EditSummary | undefined {
  const edits = editsOf(call)
  if (edits.length === 0) return undefined
  return sizeOf(edits.flatMap(({ before = '', after }) => diffLines(before, after)))
}
