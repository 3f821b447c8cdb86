import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, textOf } from '../../../platform/json.ts'
import { cachePoints, isCachePoint, searchResultBlocks, settleCachePoints, textBlocks } from './cache-points.ts'
import { blocksOf, type Conversion, type Placed, sentToolUseId } from './conversion.ts'
import { redactedBlocks, thinkingBlocks } from './reasoning.ts'
import { documentBlocks, imageBlock } from './write-media.ts'

/** A message of Converse. */
type Message = Json & { readonly role: Role; readonly content: readonly Json[] }

type Role = 'user' | 'assistant'

/** The blocks that one block of a request becomes, cache point included. */
interface Group {
  readonly isToolResult: boolean
  readonly blocks: readonly Json[]
}

/** The messages of a request, and the text of `system` messages that stand before all others. */
interface Conversation {
  readonly opening: readonly Json[]
  readonly messages: readonly Message[]
}

interface Turn {
  readonly role: Role
  readonly groups: readonly Group[]
}

/** Converts a conversation. Neighbours of one role become one message: Converse wants the roles to alternate. */
export function converted(messages: unknown, conversion: Conversion): Conversation {
  const opening: Json[] = []
  const turns: Turn[] = []
  for (const [index, message] of (Array.isArray(messages) ? messages : []).entries()) {
    const said = spoken(message, `messages.${index}`)
    if (said.role === 'system' && turns.length === 0) {
      opening.push(...said.blocks.flatMap(placed => instructionBlocks(placed, 'system', conversion)))
      continue
    }
    const turn = turnOf(said, conversion)
    const last = turns.at(-1)
    if (last?.role === turn.role) turns[turns.length - 1] = { ...last, groups: [...last.groups, ...turn.groups] }
    else if (turn.groups.length > 0) turns.push(turn)
  }
  const content = turns.map(({ role, groups }) => ({ role, content: contentOf(groups, conversion) }))
  return { opening, messages: content.filter(message => message.content.length > 0) }
}

interface Spoken {
  readonly role: Role | 'system'
  readonly blocks: readonly Placed[]
  readonly path: string
}

function spoken(message: unknown, path: string): Spoken {
  if (!isRecord(message)) throw invalid(`${path} must be an object`)
  const { role, content } = message
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw invalid(`${path}.role must be user, assistant or system`)
  return { role, path, blocks: blocksOf(content, typeof content === 'string' ? path : `${path}.content`) }
}

function turnOf({ role, blocks, path }: Spoken, conversion: Conversion): Turn {
  if (role === 'system') return { role: 'user', groups: reminder(blocks, path, conversion) }
  return { role, groups: groupsOf(blocks, role, conversion) }
}

/** A block of instructions: text, and a cache point where one is asked for. */
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

/** Instructions in mid-conversation stay in their place, as a user's words: moved to the top they would end the cache. */
function reminder(blocks: readonly Placed[], path: string, conversion: Conversion): readonly Group[] {
  conversion.note(path, 'moved_to_user')
  return blocks.map(placed => {
    const [first, ...points] = instructionBlocks(placed, 'messages', conversion)
    const text = first ? [{ text: `<system-reminder>\n${textOf(first['text'])}\n</system-reminder>` }] : []
    return { isToolResult: false, blocks: [...text, ...points] }
  })
}

const groupsOf = (blocks: readonly Placed[], role: Role, conversion: Conversion): readonly Group[] =>
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

/** Results first and side by side, all else behind them; then what Converse wants of documents and cache points. */
function contentOf(groups: readonly Group[], conversion: Conversion): readonly Json[] {
  const results = groups.filter(group => group.isToolResult)
  const others = groups.filter(group => !group.isToolResult)
  const blocks = [...results, ...others].flatMap(group => group.blocks)
  return settleCachePoints(introduced(blocks), conversion)
}

/** A document wants text beside it. */
function introduced(blocks: readonly Json[]): readonly Json[] {
  if (!blocks.some(block => 'document' in block) || blocks.some(block => 'text' in block)) return blocks
  const at = blocks.findIndex(block => 'document' in block)
  return [...blocks.slice(0, at), { text: 'See the document.' }, ...blocks.slice(at)]
}

/** The last message with a cache point at its end: what a `cache_control` of the whole request asks for. */
export function withLastPoint(messages: readonly Message[], control: unknown, conversion: Conversion) {
  const last = messages.at(-1)
  if (!last || isCachePoint(last.content.at(-1))) return messages
  const points = cachePoints({ control, path: 'cache_control', section: 'messages' }, conversion)
  return [...messages.slice(0, -1), { ...last, content: settleCachePoints([...last.content, ...points], conversion) }]
}

/** What stands for a result without any content: Converse wants some. */
const noOutput = '(no output)'

/** A `tool_result` block for Converse, and the cache points that were asked for inside: its content takes none. */
function toolResultBlocks(placed: Placed, conversion: Conversion): readonly Json[] {
  const { block, path } = placed
  const parts = blocksOf(block['content'], `${path}.content`)
  const content = parts.flatMap(part => contentBlocks(part, conversion))
  const isError = block['is_error'] === true
  const hasStatus = conversion.model.family === 'claude' || conversion.model.family === 'nova'
  const toolResult = {
    toolUseId: sentToolUseId(textOf(block['tool_use_id']), conversion.model),
    content: [...(isError && !hasStatus ? [{ text: 'The tool call failed.' }] : []), ...filled(content)],
    ...(isError && hasStatus && { status: 'error' }),
  }
  const inner = parts.flatMap(part => resultPointsOf(part, conversion))
  return [{ toolResult }, ...inner.slice(-1)]
}

const filled = (content: readonly Json[]): readonly Json[] => (content.length === 0 ? [{ text: noOutput }] : content)

const resultPointsOf = ({ block, path }: Placed, conversion: Conversion): readonly Json[] =>
  cachePoints({ control: block['cache_control'], path: `${path}.cache_control`, section: 'messages' }, conversion)

/** The blocks for what a user, or a tool's result, may hold. */
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
    default:
      conversion.note(placed.path, 'dropped')
      return []
  }
}
