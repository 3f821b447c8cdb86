import { textOfBlock } from '../../../../contract/events.ts'
import type { PromptPart } from '../../../../contract/prompts.ts'
import { estimateInputTokens } from '../../../gateway/tokens/estimate.ts'
import { isRecord, listOf, textIn } from '../../../platform/json.ts'
import { isMediaBlock, type ToolResult } from '../../../tools/tool.ts'

/** A content block of the Messages API. */
export type Block = Readonly<Record<string, unknown>>

export interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: Block[]
}

/** A block of the conversation with its place in the log. */
export interface Entry {
  readonly role: Message['role']
  readonly block: Block
  /** Sequence number of the event that added it to the conversation; infinite when it is unknown. */
  readonly seq: number
  /** Estimated. */
  readonly tokens: number
}

/** Estimates the tokens of one block; of a file of a prompt those of its content in a request. */
export function tokensOfBlock(block: Block): number {
  const media = block['type'] === 'file' ? mediaOf(String(block['media_type'])) : []
  return estimateInputTokens({ system: [block, ...media] })
}

function mediaOf(mediaType: string): Block[] {
  if (mediaType === 'application/pdf') return [{ type: 'document' }]
  return mediaType.startsWith('image/') ? [{ type: 'image' }] : []
}

/** Joins consecutive blocks of one role to one message: the API requires alternating roles. */
export function messagesOf(blocks: readonly Pick<Entry, 'role' | 'block'>[]): Message[] {
  const messages: Message[] = []
  for (const { role, block } of blocks) {
    const last = messages.at(-1)
    if (last?.role === role) last.content.push(block)
    else messages.push({ role, content: [block] })
  }
  return messages
}

/** Replaces the content of a tool result with a note that it was trimmed, and how long it was. */
export function trimmed(result: Block): Block {
  const text = `[trimmed to save room: this result had ${lengthOf(result['content'])} characters]`
  return { ...result, content: [{ type: 'text', text }] }
}

/** Returns the number of characters in the content of a result. */
function lengthOf(content: unknown): number {
  const lengths = listOf(content).map(
    part => (textIn(isRecord(part) ? part['text'] : part) ?? JSON.stringify(part)).length,
  )
  return typeof content === 'string' ? content.length : lengths.reduce((sum, length) => sum + length, 0)
}

/** Returns the block that replaces the start of the conversation. */
export const summaryOf = (summary: string): Block => ({
  type: 'text',
  text: `The conversation before this point was replaced by a summary, to save room:\n\n<summary>\n${summary}\n</summary>\n\nContinue from there.`,
})

/** A file is part of the conversation by its name and hash; its content is added to the request. */
export const blockOf = (part: PromptPart): Block =>
  part.type === 'text' ? { type: 'text', text: part.text } : { ...part }

/** Returns the content of a result. Models reject results without content or with empty texts. */
export function contentOf({ content = [] }: { readonly content?: readonly object[] }): ToolResult['content'] {
  const blocks = content.flatMap((block): ToolResult['content'][number][] => {
    if (isMediaBlock(block)) return [block]
    const text = textOfBlock(block) ?? ''
    return text.trim() === '' ? [] : [{ type: 'text', text }]
  })
  return blocks.length > 0 ? blocks : [{ type: 'text', text: '(no output)' }]
}
