import type { SessionEvent } from '../../../../../../src/client/index.ts'
import { firstArgument, textOf } from '../../../../session-log/tool-text.ts'

const maxLength = 120

type Fields = Readonly<Record<string, unknown>>

/** Returns what an event is about on one line: its text, its tool, its error; empty for others. */
export function eventSummary(event: SessionEvent): string {
  // Runtimes and later releases may add types with fields of any shape.
  return oneLine(aboutOf(event as Fields))
}

function aboutOf(fields: Fields): string {
  const { content, name, input, error, model, stop_reason: reason, path } = fields
  if (Array.isArray(content)) return textOf(content.filter(isFields))
  if (typeof name === 'string' && 'input' in fields) return `${name} ${firstArgument(input)}`
  const texts = [isFields(error) ? error['message'] : error, model, isFields(reason) ? reason['type'] : reason, path]
  return texts.find(text => typeof text === 'string') ?? ''
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null

const oneLine = (text: string): string =>
  text
    .slice(0, 4 * maxLength)
    .replace(/\s+/g, ' ')
    .slice(0, maxLength)
