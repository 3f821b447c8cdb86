import { isRecord, recordsOf, textOf } from '../../../platform/json.ts'
import { todosText } from '../../../tools/todo.ts'
import type { Message } from './blocks.ts'

const heading = 'The list of tasks at this point (todo_write):'

/** Returns the summary of messages followed by the list of tasks that they end with, if there is one. */
export function withTodos(summary: string, messages: readonly Message[]): string {
  const list = lastList(messages)
  return list === undefined ? summary : `${summary}\n\n${heading}\n${list}`
}

function lastList(messages: readonly Message[]): string | undefined {
  for (const { content } of messages.toReversed()) {
    for (const block of content.toReversed()) {
      if (block['type'] === 'tool_use' && block['name'] === 'todo_write') return listOfCall(block['input'])
      // The summary of an earlier compaction.
      const list = block['type'] === 'text' ? listOfSummary(textOf(block['text'])) : undefined
      if (list !== undefined) return list
    }
  }
  return undefined
}

const listOfCall = (input: unknown): string | undefined =>
  isRecord(input) ? todosText(recordsOf(input['todos'])) || undefined : undefined

function listOfSummary(text: string): string | undefined {
  const at = text.lastIndexOf(`\n\n${heading}\n`)
  const end = text.lastIndexOf('\n</summary>')
  return at >= 0 && end > at ? text.slice(at + heading.length + 3, end) : undefined
}
