import { addAll } from '../../../platform/add-all.ts'
import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, textOf } from '../../../platform/json.ts'
import { toolReferenceText } from '../shared/tools.ts'
import { cachePoints, isCachePoint, placeCachePoints, searchResultBlocks, textBlocks } from './cache-points.ts'
import { blocksOf, type Conversion, type Placed, sentToolUseId } from './conversion.ts'
import { redactedBlocks, thinkingBlocks } from './reasoning.ts'
import { documentBlocks, imageBlock } from './write-media.ts'

/** Message of Converse. */
type Message = Json & { readonly role: Role; readonly content: readonly Json[] }

type Role = 'user' | 'assistant'

/** Converse blocks for one block of a request, including its cache point. */
interface Group {
  readonly isToolResult: boolean
  readonly blocks: readonly Json[]
}

/** Messages of a request, and the text of leading `system` messages. */
interface Conversation {
  readonly opening: readonly Json[]
  readonly messages: readonly Message[]
}

interface Turn {
  readonly role: Role
  readonly groups: Group[]
}

/** Converts a conversation. Consecutive messages of one role are merged: Converse requires alternating roles. */
export function converted(messages: unknown, conversion: Conversion): Conversation {
  const opening: Json[] = []
  const turns: Turn[] = []
  for (const [index, message] of (Array.isArray(messages) ? messages : []).entries()) {
    const parsed = parsedMessage(message, `messages.${index}`)
    if (parsed.role === 'system' && turns.length === 0) {
      addAll(
        opening,
        parsed.blocks.flatMap(placed => instructionBlocks(placed, 'system', conversion)),
      )
      continue
    }
    const turn = turnOf(parsed, conversion)
    const last = turns.at(-1)
    if (last?.role === turn.role) for (const group of turn.groups) last.groups.push(group)
    else if (turn.groups.length > 0) turns.push(turn)
  }
  const content = turns.map(({ role, groups }) => ({ role, content: contentOf(groups, conversion) }))
  return { opening, messages: content.filter(message => message.content.length > 0) }
}

interface ParsedMessage {
  readonly role: Role | 'system'
  readonly blocks: readonly Placed[]
  readonly path: string
}

function parsedMessage(message: unknown, path: string): ParsedMessage {
  if (!isRecord(message)) throw invalid(`${path} must be an object`)
  const { role, content } = message
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw invalid(`${path}.role must be user, assistant or system`)
  return { role, path, blocks: blocksOf(content, typeof content === 'string' ? path : `${path}.content`) }
}

function turnOf({ role, blocks, path }: ParsedMessage, conversion: Conversion): Turn {
  if (role === 'system') return { role: 'user', groups: reminder(blocks, path, conversion) }
  return { role, groups: groupsOf(blocks, role, conversion) }
}

/** Converts a block of instructions to a text and its cache point. */
export function instructionBlocks(
  { block, path }: Placed,
  section: 'system' | 'messages',
  conversion: Conversion,
): readonly Json[] {
  if (block['type'] !== 'text') conversion.note(path, 'dropped')
  const text = block['type'] === 'text' ? textBlocks(block['text']) : []
  return text.length === 0 ? [] : [...text, ...pointsOf({ block, path }, section, conversion)]
}

const pointsOf = ({ block, path }: Placed, section: 'system' | 'messages', conversion: Conversion): readonly Json[] =>
  cachePoints({ control: block['cache_control'], path: `${path}.cache_control`, section }, conversion)

/** Converts later instructions to user text in their place. At the top they would invalidate the prompt cache. */
function reminder(blocks: readonly Placed[], path: string, conversion: Conversion): Group[] {
  conversion.note(path, 'moved_to_user')
  return blocks.map(placed => {
    const [first, ...points] = instructionBlocks(placed, 'messages', conversion)
    const text = first ? [{ text: `<system-reminder>\n${textOf(first['text'])}\n</system-reminder>` }] : []
    return { isToolResult: false, blocks: [...text, ...points] }
  })
}

const groupsOf = (blocks: readonly Placed[], role: Role, conversion: Conversion): Group[] =>
  blocks.map(placed => {
    const found = role === 'user' ? userBlocks(placed, conversion) : assistantBlocks(placed, conversion)
    const points = found.length === 0 ? [] : pointsOf(placed, 'messages', conversion)
    return { isToolResult: placed.block['type'] === 'tool_result', blocks: [...found, ...points] }
  })

const userBlocks = (placed: Placed, conversion: Conversion): readonly Json[] =>
  placed.block['type'] === 'tool_result' ? toolResultBlocks(placed, conversion) : contentBlocks(placed, conversion)

function assistantBlocks(placed: Placed, conversion: Conversion): readonly Json[] {
  const { block, path } = placed
  switch (block['type']) {
    case 'text':
      return textBlocks(block['text'])
    case 'tool_use':
      return [toolUseBlock(block, conversion)]
    case 'thinking':
      return thinkingBlocks(placed, conversion)
    case 'redacted_thinking':
      return redactedBlocks(placed, conversion)
    default:
      conversion.note(path, 'dropped')
      return []
  }
}

const toolUseBlock = (block: Json, { model }: Conversion): Json => ({
  toolUse: {
    toolUseId: sentToolUseId(textOf(block['id']), model),
    name: textOf(block['name']),
    input: block['input'] ?? {},
  },
})

/** Orders the content: tool results first. Then applies Converse's rules for documents and cache points. */
function contentOf(groups: readonly Group[], conversion: Conversion): readonly Json[] {
  const results = groups.filter(group => group.isToolResult)
  const others = groups.filter(group => !group.isToolResult)
  const blocks = [...results, ...others].flatMap(group => group.blocks)
  return placeCachePoints(withText(blocks), conversion)
}

/** Adds a text to content with documents but no text, which Converse rejects. */
function withText(blocks: readonly Json[]): readonly Json[] {
  if (!blocks.some(block => 'document' in block) || blocks.some(block => 'text' in block)) return blocks
  const at = blocks.findIndex(block => 'document' in block)
  return [...blocks.slice(0, at), { text: 'See the document.' }, ...blocks.slice(at)]
}

/** Adds a cache point to the end of the last message, for a `cache_control` of the whole request. */
export function withLastPoint(messages: readonly Message[], control: unknown, conversion: Conversion) {
  const last = messages.at(-1)
  if (!last || isCachePoint(last.content.at(-1))) return messages
  const points = cachePoints({ control, path: 'cache_control', section: 'messages' }, conversion)
  return [...messages.slice(0, -1), { ...last, content: placeCachePoints([...last.content, ...points], conversion) }]
}

/** Placeholder for an empty result, which Converse rejects. */
const noOutput = '(no output)'

/** Converts a `tool_result` block. Cache points of its content follow it, because Converse accepts none inside. */
function toolResultBlocks(placed: Placed, conversion: Conversion): readonly Json[] {
  const { block, path } = placed
  const parts = blocksOf(block['content'], `${path}.content`)
  const content = parts.flatMap(part => contentBlocks(part, conversion))
  const isError = block['is_error'] === true
  const hasStatus = conversion.model.family === 'claude' || conversion.model.family === 'nova'
  const toolResult = {
    toolUseId: sentToolUseId(textOf(block['tool_use_id']), conversion.model),
    content: [...(isError && !hasStatus ? [{ text: 'The tool call failed.' }] : []), ...nonEmpty(content)],
    ...(isError && hasStatus && { status: 'error' }),
  }
  const inner = parts.flatMap(part => resultPointsOf(part, conversion))
  return [{ toolResult }, ...inner.slice(-1)]
}

const nonEmpty = (content: readonly Json[]): readonly Json[] => (content.length === 0 ? [{ text: noOutput }] : content)

const resultPointsOf = ({ block, path }: Placed, conversion: Conversion): readonly Json[] =>
  cachePoints({ control: block['cache_control'], path: `${path}.cache_control`, section: 'messages' }, conversion)

/** Converts a block of a user message or a tool result. */
function contentBlocks(placed: Placed, conversion: Conversion): readonly Json[] {
  switch (placed.block['type']) {
    case 'text':
      return textBlocks(placed.block['text'])
    case 'image':
      return [imageBlock(placed)]
    case 'document':
      return documentBlocks(placed, conversion)
    case 'search_result':
      return searchResultBlocks(placed, conversion)
    case 'tool_reference':
      return textBlocks(toolReferenceText(placed.block))
    default:
      conversion.note(placed.path, 'dropped')
      return []
  }
}
