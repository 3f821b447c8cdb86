import type { NewEvent } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import { isRecord, type Json, listOf, nonEmptyText, recordOf, recordsOf, textIn, textOf } from '../../platform/json.ts'
import { type Book, resultOf } from './book.ts'

/** Longest text of one block that enters the log. */
const maxTextLength = 1024 * 1024

/** Kinds that no part of ours reads; they are for clients that know them. Dialects: section 1.6. */
const passed =
  /^(agent\.(custom_tool_use|thread_\w+)|session\.(updated|usage|thread_\w+)|span\.outcome_evaluation_\w+|workflow_run\.\w+)$/

/** Fields of an event that are ours to say. */
const ownFields = ['id', 'type', 'processed_at', 'seq', 'prompt_id', 'run_id', 'source_event_id']

/**
 * An event of that server as one of ours, with an id of our own; undefined for what the log does not show. Statuses and
 * errors are decided elsewhere. `shownAs` is the id under which its text was shown while it was written.
 */
export function translated(event: Json, book: Book, shownAs: string | undefined): NewEvent | undefined {
  const fields = fieldsOf(event, book)
  if (!fields) return undefined
  const sourceId = nonEmptyText(event['id'])
  return { ...fields, id: shownAs ?? newId('evt'), ...(sourceId !== undefined && { source_event_id: sourceId }) }
}

function fieldsOf(event: Json, book: Book): NewEvent | undefined {
  const type = textOf(event['type'])
  const payload = payloadOf(event)
  switch (type) {
    case 'agent.message':
    case 'agent.thinking':
      return { ...payload, type, ...('content' in payload && { content: cutBlocks(payload['content']) }) }
    case 'agent.tool_use':
    case 'agent.mcp_tool_use':
      return toolUse(type, payload, nonEmptyText(event['id']))
    case 'agent.tool_result':
    case 'agent.mcp_tool_result':
      return toolResult(payload, book)
    case 'span.model_request_start':
      return { ...payload, type }
    case 'span.model_request_end':
      return { ...payload, type, model_request_start_id: startOf(payload, book) }
    default:
      return passed.test(type) ? { ...payload, type } : undefined
  }
}

/** Whoever names no id of the call itself names the event. */
function toolUse(type: string, payload: Json, sourceId: string | undefined): NewEvent {
  const input = payload['input']
  return {
    ...payload,
    type,
    tool_use_id: storable(nonEmptyText(payload['tool_use_id']) ?? sourceId ?? newId('use')),
    name: storable(textOf(payload['name'])),
    input: isRecord(input) ? input : {},
  }
}

/** Of a call that has its result already, or that nobody has seen, there is nothing to tell. */
function toolResult(payload: Json, book: Book): NewEvent | undefined {
  const { tool_use_id, mcp_tool_use_id, content, is_error, ...rest } = payload
  const name = nonEmptyText(tool_use_id) ?? nonEmptyText(mcp_tool_use_id)
  // Where events have no ids a result cannot name its call: they are then told in order.
  const nameless = book.open.find(({ sourceId }) => sourceId === undefined)
  const call = book.callOf(name) ?? nameless
  return call && resultOf(call, { ...rest, content: cutBlocks(content), is_error: is_error === true })
}

const startOf = ({ model_request_start_id }: Json, book: Book): string | null =>
  book.idOf(textIn(model_request_start_id) ?? '') ?? null

const payloadOf = (event: Json): Json =>
  Object.fromEntries(Object.entries(event).filter(([name]) => !ownFields.includes(name)))

/** The database takes no null characters where it looks into an event. */
const storable = (text: string): string => text.replaceAll('\0', '')

/** Blocks of content; a bare text counts as one. */
function cutBlocks(content: unknown): readonly unknown[] {
  if (typeof content === 'string') return cutBlocks([{ type: 'text', text: content }])
  return recordsOf(listOf(content)).map(block => {
    const { text } = block
    if (typeof text !== 'string' || text.length <= maxTextLength) return block
    const more = text.length - maxTextLength
    return { ...block, text: `${text.slice(0, maxTextLength)}\n[cut off: ${more} more characters]` }
  })
}

/** What a preview frame says; undefined for any other event. */
export function previewOf(event: Json): { readonly sourceId: string; readonly text: string } | undefined {
  if (event['type'] !== 'event_delta') return undefined
  const { type, text } = recordOf(recordOf(event['delta'])['content'])
  const sourceId = nonEmptyText(event['event_id'])
  return sourceId !== undefined && type === 'text' && typeof text === 'string' ? { sourceId, text } : undefined
}

/** True for frames that announce an event to come, or are no events at all: no list ever shows them. */
export const isFleeting = ({ type }: Json): boolean =>
  type === 'event_start' || type === 'event_delta' || type === 'ping' || type === ''
