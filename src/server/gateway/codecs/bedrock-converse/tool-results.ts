import { type Json, textOf } from '../../../platform/json.ts'
import { cachePoints } from './cache-points.ts'
import { blocksOf, type Conversion, type Placed } from './conversion.ts'
import { documentBlocks, imageBlock } from './media.ts'
import { searchResultBlocks, textBlocks } from './text-blocks.ts'
import { sentToolUseId } from './tool-identity.ts'

/** What stands for a result without any content: Converse wants some. */
const noOutput = '(no output)'

/** A `tool_result` block for Converse, and the cache points that were asked for inside: its content takes none. */
export function toolResultBlocks(placed: Placed, conversion: Conversion): readonly Json[] {
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
  const inner = parts.flatMap(part => pointsOf(part, conversion))
  return [{ toolResult }, ...inner.slice(-1)]
}

const filled = (content: readonly Json[]): readonly Json[] => (content.length === 0 ? [{ text: noOutput }] : content)

const pointsOf = ({ block, path }: Placed, conversion: Conversion): readonly Json[] =>
  cachePoints({ control: block['cache_control'], path: `${path}.cache_control`, section: 'messages' }, conversion)

/** The blocks for what a user, or a tool's result, may hold. */
export function contentBlocks(placed: Placed, conversion: Conversion): readonly Json[] {
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
