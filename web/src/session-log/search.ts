import { noteText } from './notes.ts'
import type { Row } from './rows.ts'
import { callTitle, promptText, textOf } from './tool-text.ts'
import type { Item, Thread, ToolCall } from './view.ts'

const texts = new WeakMap<Row, string>()

/**
 * Returns the places of the rows whose text contains `query`, without regard to case. Empty for a blank query. Search in
 * rows of a view without collapsed groups to find everything.
 */
export function searchRows(rows: readonly Row[], query: string): number[] {
  const wanted = query.trim().toLowerCase()
  if (wanted === '') return []
  return rows.flatMap((row, at) => (lowerCaseOf(row).includes(wanted) ? [at] : []))
}

function lowerCaseOf(row: Row): string {
  const known = texts.get(row)
  if (known !== undefined) return known
  const text = rowText(row).toLowerCase()
  texts.set(row, text)
  return text
}

/** Returns the text of a row, with the arguments and the result of a tool call. */
export function rowText(row: Row): string {
  switch (row.kind) {
    case 'prompt':
      return promptText(row.prompt)
    case 'request':
      return row.group.model ?? ''
    case 'item':
      return itemText(row.item)
    case 'end':
      return [row.end.outcome, row.end.error?.message, row.end.stopDetails?.message].filter(Boolean).join('\n')
    case 'live':
      return row.live.text
  }
}

function itemText(item: Item): string {
  switch (item.kind) {
    case 'text':
      return textOf(item.content)
    case 'thinking':
      return item.text
    case 'tool':
      return callText(item)
    case 'thread':
      return threadText(item)
    case 'note': {
      const { label, text } = noteText(item)
      return [label, text, item.event.summary ?? ''].join('\n')
    }
  }
}

function callText(call: ToolCall): string {
  const input = typeof call.input === 'string' ? call.input : stringsIn(call.input)
  return [callTitle(call), input, ...(call.result ? [textOf(call.result.content)] : [])].join('\n')
}

/** Returns the names and values of the arguments: JSON would hide line feeds and quotation marks from a search. */
function stringsIn(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value)
    .map(([name, each]) => `${name} ${stringsIn(each)}`)
    .join('\n')
}

const threadText = ({ agentName, sessionId, messages }: Thread): string =>
  [agentName ?? '', sessionId, ...messages.map(({ content }) => textOf(content))].join('\n')
