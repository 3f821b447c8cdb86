import type { NewEvent } from '../../contract/events.ts'
import { recordsOf, textOf } from '../platform/json.ts'
import { shortened } from './remote/shortened.ts'

const longestEntry = 4_000
const longestConversation = 200_000

/** What an event tells somebody who has not seen the conversation; nothing for most. */
export function pastEntry(event: NewEvent): string[] {
  const text = () =>
    recordsOf(event['content'])
      .map(block => textOf(block['text']))
      .join('\n')
  switch (event.type) {
    case 'user.message':
      return [`User:\n${text()}`]
    case 'agent.message':
      return [`Assistant:\n${text()}`]
    case 'agent.tool_use':
      return [shortened(`Assistant called ${textOf(event['name'])}: ${JSON.stringify(event['input'])}`, longestEntry)]
    case 'agent.tool_result':
      return [shortened(`Result:\n${text()}`, longestEntry)]
    default:
      return []
  }
}

/** A conversation as one text, for a runtime that begins with it; the end of it, when all of it is too long. Empty for nothing. */
export function pastText(said: readonly string[]): string {
  if (said.length === 0) return ''
  const all = said.join('\n\n')
  const kept = all.slice(-longestConversation).toWellFormed()
  const cut = kept.length < all.length ? '[...]' : ''
  return `<conversation_so_far>\n${cut}${kept}\n</conversation_so_far>`
}
