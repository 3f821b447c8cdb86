import { diffLines, editsOf } from '../../../session-log/file-edits.ts'
import type { ToolCall } from '../../../session-log/view.ts'

interface EditSummary {
  readonly added: number
  readonly removed: number
}

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
  const lines = edits.flatMap(diffLines)
  const countOf = (wanted: string) => lines.filter(({ kind }) => kind === wanted).length
  return { added: countOf('added'), removed: countOf('removed') }
}
