import { isOfThread, type NewEvent, type NewEventOf, textOfBlock } from '../../contract/events.ts'
import { textOfPart } from './prompt-words.ts'
import { shortened } from './remote/shortened.ts'

const maxEntryLength = 4_000
const maxConversationLength = 200_000

/** Renders an event for a reader who has not seen the conversation; empty for events without content. */
export function conversationEntry(event: NewEvent): string[] {
  if (isOfThread(event)) return []
  const text = () => (event.content ?? []).map(block => textOfBlock(block) ?? '').join('\n')
  switch (event.type) {
    case 'user.message':
      return [`User:\n${event.content.map(textOfPart).join('\n')}`]
    case 'agent.message':
      return [`Assistant:\n${text()}`]
    case 'agent.tool_use':
    case 'agent.custom_tool_use':
      return [shortened(`Assistant called ${event.name}: ${JSON.stringify(event.input)}`, maxEntryLength)]
    case 'agent.mcp_tool_use':
      return [shortened(`Assistant called ${calledName(event)}: ${JSON.stringify(event.input)}`, maxEntryLength)]
    case 'agent.tool_result':
    case 'agent.mcp_tool_result':
    case 'user.custom_tool_result':
      return [shortened(`Result:\n${text()}`, maxEntryLength)]
    default:
      return []
  }
}

const calledName = ({ mcp_server_name: server = '', name }: NewEventOf<'agent.mcp_tool_use'>): string =>
  server === '' ? name : `${name} of ${server}`

/** Joins entries to one text for a runtime that starts with it. Only the end is kept when the text is too long. */
export function conversationText(entries: readonly string[]): string {
  if (entries.length === 0) return ''
  const all = entries.join('\n\n')
  const kept = all.slice(-maxConversationLength).toWellFormed()
  const cut = kept.length < all.length ? '[...]' : ''
  return `<conversation_so_far>\n${cut}${kept}\n</conversation_so_far>`
}
