import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, recordOf, recordsOf, textIn } from '../../../platform/json.ts'
import { placed } from '../../core/degradations.ts'
import { type Block, contentBlocks, inputOf, markedAtEnd, resultBlock, textBlocks } from '../shared/content-parts.ts'
import type { Conversation } from '../shared/conversation.ts'
import type { Note } from '../shared/settings.ts'
import { toolCallId, toolName } from '../shared/tools.ts'
import { type PartReading, partBlocks, signedThinking } from './read-parts.ts'
import { thinkingBlocks } from './reasoning-details.ts'

interface Reading extends PartReading {
  readonly conversation: Conversation
}

/** Adds the messages of a chat request to a conversation. */
export function addChatMessages(messages: readonly unknown[], reading: Reading): void {
  const { note } = reading
  /** Id of the last call of each function. Results in the older form contain the function's name instead of an id. */
  const calls = new Map<string, string>()
  for (const [at, message] of messages.entries()) {
    const path = `messages.${at}`
    if (!isRecord(message)) throw invalid(`${path} must be an object`)
    if (textIn(message['name']) !== undefined && message['role'] !== 'function') note(`${path}.name`)
    addMessage(message, { ...reading, path, calls })
  }
}

interface Place extends Reading {
  readonly path: string
  readonly calls: Map<string, string>
}

function addMessage(message: Json, place: Place): void {
  const { path, conversation } = place
  const { role, content } = message
  const read = () => markedAtEnd(blocksOf(content, `${path}.content`, place), message)
  switch (role) {
    case 'system':
    case 'developer':
      conversation.addSystem(read(), path)
      break
    case 'user':
      conversation.add('user', read(), path)
      break
    case 'assistant':
      conversation.add('assistant', markedAtEnd(assistantBlocks(message, place), message), path)
      break
    case 'tool':
      conversation.add(
        'user',
        resultOf(message, { ...place, id: message['tool_call_id'], idPath: `${path}.tool_call_id` }),
        path,
      )
      break
    case 'function': {
      const id = place.calls.get(String(message['name']))
      conversation.add('user', resultOf(message, { ...place, id, idPath: `${path}.name` }), path)
      break
    }
    default:
      throw invalid(`${path}.role must be system, developer, user, assistant or tool`)
  }
}

interface ResultPlace extends Place {
  /** Id of the call. */
  readonly id: unknown
  readonly idPath: string
}

const resultOf = (message: Json, place: ResultPlace): readonly Block[] =>
  markedAtEnd(
    [resultBlock(place.id, blocksOf(message['content'], `${place.path}.content`, place), place.idPath)],
    message,
  )

const blocksOf = (content: unknown, path: string, reading: PartReading): readonly Block[] =>
  contentBlocks(content, path, (part, own) => partBlocks(part, own, reading))

function assistantBlocks(message: Json, place: Place): readonly Block[] {
  const { path, note, calls } = place
  const { content, refusal, tool_calls: toolCalls, function_call: legacy, audio } = message
  if (!isAbsent(audio)) note(`${path}.audio`)
  const thoughts = thoughtsOf(message, path, note)
  // A model accepts its own thinking only with the signature.
  if (thoughts.length === 0)
    for (const field of ['reasoning_content', 'reasoning']) if (!isAbsent(message[field])) note(`${path}.${field}`)
  const blocks = [...thoughts, ...blocksOf(content, `${path}.content`, place), ...textBlocks(refusal)]
  if (isRecord(legacy)) {
    const id = `call_${path.replaceAll('.', '_')}`
    calls.set(String(legacy['name']), id)
    blocks.push(callBlock({ id, function: legacy }, `${path}.function_call`, note))
  }
  if (isAbsent(toolCalls)) return blocks
  if (!Array.isArray(toolCalls)) throw invalid(`${path}.tool_calls must be an array`)
  for (const [at, call] of toolCalls.entries()) {
    const own = `${path}.tool_calls.${at}`
    const block = placed(callBlock(recordOf(call), own, note), own)
    calls.set(String(block['name']), String(block['id']))
    blocks.push(block)
  }
  return blocks
}

/** Reads signed thinking from OpenRouter's field, else from that of LiteLLM, which has blocks in Anthropic's format. */
function thoughtsOf(message: Json, path: string, note: Note): readonly Block[] {
  const { reasoning_details: details, thinking_blocks: blocks } = message
  const detailed = thinkingBlocks(details, `${path}.reasoning_details`, note)
  return detailed.length > 0 ? detailed : recordsOf(blocks).flatMap(block => signedThinking(block) ?? [])
}

function callBlock({ id, function: called, custom }: Json, path: string, note: Note): Block {
  const { name, arguments: args, input } = recordOf(called ?? custom)
  if (typeof id !== 'string' || typeof name !== 'string') throw invalid(`${path} must have an id and a name`)
  return {
    type: 'tool_use',
    id: toolCallId(id),
    name: toolName(name),
    input: custom === undefined ? inputOf(args, `${path}.function.arguments`, note) : { input: textIn(input) ?? '' },
  }
}
