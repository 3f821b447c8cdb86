import { isRecord, listOf } from '../../../platform/json.ts'
import type { ModelInputs } from '../../../tools/tool.ts'
import type { Block, Message } from './blocks.ts'

/**
 * Returns the messages without the images and documents of tool results that the model does not accept: an earlier
 * prompt of the session may have used another model.
 */
export function acceptedMedia(messages: readonly Message[], inputs: ModelInputs): readonly Message[] {
  if (inputs.images && inputs.documents) return messages
  return messages.map(message => ({ ...message, content: message.content.map(block => accepted(block, inputs)) }))
}

function accepted(block: Block, inputs: ModelInputs): Block {
  if (block['type'] !== 'tool_result') return block
  const parts = listOf(block['content'])
  if (!parts.some(part => isRejected(part, inputs))) return block
  return { ...block, content: parts.map(part => (isRejected(part, inputs) ? placeholder : part)) }
}

const placeholder: Block = { type: 'text', text: '[a file that this model does not read]' }

function isRejected(part: unknown, { images, documents }: ModelInputs): boolean {
  if (!isRecord(part)) return false
  return (part['type'] === 'image' && !images) || (part['type'] === 'document' && !documents)
}
