import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, textIn } from '../../../platform/json.ts'
import {
  type Block,
  contentBlocks,
  fileBlock,
  imageBlock,
  inputOf,
  resultBlock,
  textBlocks,
} from '../shared/content-parts.ts'
import type { Conversation } from '../shared/conversation.ts'
import { withDetail } from '../shared/extras.ts'
import type { Note } from '../shared/settings.ts'
import { toolCallId, toolName } from '../shared/tools.ts'
import { clientToolOf } from './client-tools.ts'
import { isCompaction, isTrigger, summaryIn } from './compaction.ts'
import { decodedThinking } from './reasoning.ts'

interface Reading {
  readonly conversation: Conversation
  readonly note: Note
  /** True for upstreams that store files, which the client may reference by id. */
  readonly takesFileIds: boolean
}

/** Adds the input of a Responses request to a conversation. */
export function addInput(input: unknown, reading: Reading): void {
  const { conversation } = reading
  if (typeof input === 'string') {
    conversation.add('user', textBlocks(input), 'input')
    return
  }
  const callIds = new Map<unknown, string>()
  for (const [at, item] of (input as readonly unknown[]).entries()) {
    const path = `input.${at}`
    if (!isRecord(item)) throw invalid(`${path} must be an object`)
    addItem(item, { ...reading, path, callIds })
  }
}

interface Place extends Reading {
  readonly path: string
  /** Call ids by item ids. One kind of result references the item instead of the call. */
  readonly callIds: Map<unknown, string>
}

function addItem(item: Json, place: Place): void {
  const { path, conversation, note } = place
  const type = textIn(item['type']) ?? (isAbsent(item['role']) ? undefined : 'message')
  switch (type) {
    case 'message':
      addMessage(item, place)
      break
    case 'reasoning': {
      const thinking = decodedThinking(item['encrypted_content'])
      if (thinking) conversation.add('assistant', [thinking], path)
      else note(path)
      break
    }
    case 'function_call':
      conversation.add(
        'assistant',
        [callBlock(item, inputOf(item['arguments'], `${path}.arguments`, note), path)],
        path,
      )
      break
    case 'custom_tool_call':
      conversation.add('assistant', [callBlock(item, { input: textIn(item['input']) ?? '' }, path)], path)
      break
    case 'function_call_output':
    case 'custom_tool_call_output':
      conversation.add('user', [outputBlock(item['call_id'], item['output'], place)], path)
      break
    case 'item_reference':
      throw invalid(`${path}: item references are not supported; send the item itself`)
    case undefined:
      throw invalid(`${path}.type is required`)
    default:
      addOther(type, item, place)
  }
}

/** Adds compaction items, and calls and results of client tools. Items of tools that ran at OpenAI are dropped. */
function addOther(type: string, item: Json, place: Place): void {
  const { path, conversation, note, callIds } = place
  if (isTrigger(item)) throw invalid(`${path}: ${type} must be the last item of input`)
  if (isCompaction(item)) {
    const summary = summaryIn(item)
    if (summary === undefined) note(path)
    else conversation.add('user', textBlocks(summary), path)
    return
  }
  const found = clientToolOf(type === 'tool_search_output' ? 'tool_search_call_output' : type)
  if (!found) {
    if (type !== 'additional_tools') note(path)
    return
  }
  const callId = textIn(item['call_id']) ?? callIds.get(item['id']) ?? item['id']
  if (type.endsWith('_output')) {
    conversation.add('user', [outputBlock(callId, found.tool.outputOf(item), place)], path)
    return
  }
  if (typeof callId === 'string') callIds.set(item['id'], callId)
  const called = { call_id: callId, name: found.type }
  conversation.add('assistant', [callBlock(called, found.tool.inputOf(item), path)], path)
}

function addMessage({ role, content }: Json, place: Place): void {
  const { path, conversation } = place
  const blocks = blocksOf(content, `${path}.content`, place)
  if (role === 'system' || role === 'developer') conversation.addSystem(blocks, path)
  else if (role === 'user' || role === 'assistant') conversation.add(role, blocks, path)
  else throw invalid(`${path}.role must be system, developer, user or assistant`)
}

function callBlock({ call_id: id, name, namespace }: Json, input: Json, path: string): Block {
  if (typeof id !== 'string' || typeof name !== 'string') throw invalid(`${path} must have a call_id and a name`)
  return { type: 'tool_use', id: toolCallId(id), name: toolName(name, textIn(namespace)), input }
}

type FileIds = Pick<Reading, 'takesFileIds'>

const blocksOf = (content: unknown, path: string, reading: FileIds): readonly Block[] =>
  contentBlocks(content, path, (part, own) => partBlocks(part, own, reading))

const outputBlock = (id: unknown, output: unknown, place: Place): Block =>
  resultBlock(id, blocksOf(output, `${place.path}.output`, place), `${place.path}.call_id`)

function partBlocks(part: Json, path: string, { takesFileIds: takesIds }: FileIds): readonly Block[] {
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return textBlocks(part['text'], part)
    case 'refusal':
      return textBlocks(part['refusal'])
    case 'input_image':
      if (isAbsent(part['image_url']) && !isAbsent(part['file_id']))
        throw invalid(`${path}.file_id: stored files are not supported for this model; send the file data`)
      return [withDetail(imageBlock(part['image_url'], part, { path: `${path}.image_url` }), part['detail'])]
    case 'input_file':
      return [fileBlock(part, part, { path, takesIds })]
    default:
      throw invalid(`${path}.type ${String(part['type'])} is not supported for this model`)
  }
}
