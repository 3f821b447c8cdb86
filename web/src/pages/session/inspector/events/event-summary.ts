import type { SessionEvent } from '../../../../../../src/client/index.ts'
import { firstArgument, textOf } from '../../../../session-log/tool-text.ts'

const maxLength = 120

/** Returns what an event is about on one line: its text, its tool, its error; empty for others. */
export function eventSummary(event: SessionEvent): string {
  return oneLine(aboutOf(event))
}

function aboutOf(event: SessionEvent): string {
  if ('content' in event && Array.isArray(event.content)) return textOf(event.content)
  if ('name' in event && 'input' in event) return `${event.name} ${firstArgument(event.input)}`
  if ('error' in event) return event.error.message
  if ('model' in event && typeof event.model === 'string') return event.model
  if ('stop_reason' in event) return event.stop_reason.type
  return 'path' in event && typeof event.path === 'string' ? event.path : ''
}

const oneLine = (text: string): string =>
  text
    .slice(0, 4 * maxLength)
    .replace(/\s+/g, ' ')
    .slice(0, maxLength)
