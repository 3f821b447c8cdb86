import type { NewEvent } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import { isRecord, type Json, listOf, nonEmptyText, recordOf, recordsOf, textIn, textOf } from '../../platform/json.ts'
import { type LogIndex, resultOf } from './log-index.ts'

/** Longest text of one block in the log. */
const maxTextLength = 1024 * 1024

/** Event types that are passed through for clients that know them. Dialects: section 1.6. */
const passthroughTypes =
  /^(agent\.(custom_tool_use|thread_\w+)|session\.(updated|usage|thread_\w+)|span\.outcome_evaluation_\w+|workflow_run\.\w+)$/

/** Fields of an event that we set ourselves. */
const ownFields = ['id', 'type', 'processed_at', 'seq', 'prompt_id', 'run_id', 'source_event_id']

/**
 * Converts an event of the provider to one of ours with its own id; returns undefined for events that are not logged.
 * `status-change.ts` handles statuses and errors. `previewId` is the event id of its previews.
 */
export function translated(event: Json, logIndex: LogIndex, previewId: string | undefined): NewEvent | undefined {
  const fields = fieldsOf(event, logIndex)
  if (!fields) return undefined
  const sourceId = nonEmptyText(event['id'])
  return { ...fields, id: previewId ?? newId('evt'), ...(sourceId !== undefined && { source_event_id: sourceId }) }
}

function fieldsOf(event: Json, logIndex: LogIndex): NewEvent | undefined {
  const type = textOf(event['type'])
  const payload = payloadOf(event)
  switch (type) {
    case 'agent.message':
      return { ...payload, type, content: cutBlocks(payload['content']) }
    case 'agent.thinking':
      return { ...payload, type, ...('content' in payload && { content: cutBlocks(payload['content']) }) }
    case 'agent.tool_use':
    case 'agent.mcp_tool_use':
      return toolUse(type, payload, nonEmptyText(event['id']))
    case 'agent.tool_result':
    case 'agent.mcp_tool_result':
      return toolResult(payload, logIndex)
    case 'span.model_request_start':
      return { ...payload, type }
    case 'span.model_request_end':
      return { ...payload, type, model_request_start_id: startOf(payload, logIndex) }
    default:
      return passthroughTypes.test(type) ? passedThrough(type, payload) : undefined
  }
}

/** Nothing in this service reads these events, so the log stores the provider's fields unchecked. */
const passedThrough = (type: string, payload: Json): NewEvent => ({ ...payload, type }) as NewEvent

/** Uses the id of the event for a call without an id. */
function toolUse(type: 'agent.tool_use' | 'agent.mcp_tool_use', payload: Json, sourceId: string | undefined): NewEvent {
  const input = payload['input']
  return {
    ...payload,
    type,
    tool_use_id: storable(nonEmptyText(payload['tool_use_id']) ?? sourceId ?? newId('use')),
    name: storable(textOf(payload['name'])),
    input: isRecord(input) ? input : {},
  }
}

/** Returns undefined for a call that has a result or is unknown. */
function toolResult(payload: Json, logIndex: LogIndex): NewEvent | undefined {
  const { tool_use_id, mcp_tool_use_id, content, is_error, ...rest } = payload
  const name = nonEmptyText(tool_use_id) ?? nonEmptyText(mcp_tool_use_id)
  // Without event ids a result cannot name its call: results then belong to the calls in order.
  const nameless = logIndex.open.find(({ sourceId }) => sourceId === undefined)
  const call = logIndex.callOf(name) ?? nameless
  return call && resultOf(call, { ...rest, content: cutBlocks(content), is_error: is_error === true })
}

const startOf = ({ model_request_start_id }: Json, logIndex: LogIndex): string | null =>
  logIndex.idOf(textIn(model_request_start_id) ?? '') ?? null

const payloadOf = (event: Json): Json =>
  Object.fromEntries(Object.entries(event).filter(([name]) => !ownFields.includes(name)))

/** PostgreSQL rejects null characters in the fields that it reads from an event. */
const storable = (text: string): string => text.replaceAll('\0', '')

/** Returns content blocks with their texts cut; a plain string counts as one block. */
function cutBlocks(content: unknown): readonly Json[] {
  if (typeof content === 'string') return cutBlocks([{ type: 'text', text: content }])
  return recordsOf(listOf(content)).map(block => {
    const { text } = block
    if (typeof text !== 'string' || text.length <= maxTextLength) return block
    const more = text.length - maxTextLength
    return { ...block, text: `${text.slice(0, maxTextLength)}\n[truncated: ${more} more characters]` }
  })
}

/** Returns the text of a preview frame; undefined for any other event. */
export function previewOf(event: Json): { readonly sourceId: string; readonly text: string } | undefined {
  if (event['type'] !== 'event_delta') return undefined
  const { type, text } = recordOf(recordOf(event['delta'])['content'])
  const sourceId = nonEmptyText(event['event_id'])
  return sourceId !== undefined && type === 'text' && typeof text === 'string' ? { sourceId, text } : undefined
}

/** True for previews and keep-alives, which are not in the list. */
export const isFleeting = ({ type }: Json): boolean =>
  type === 'event_start' || type === 'event_delta' || type === 'ping' || type === ''
