import { estimateInputTokens } from '../../../gateway/tokens/estimate.ts'
import { isRecord, listOf, textIn } from '../../../platform/json.ts'

/** A content block as the Messages API takes it. */
export type Block = Readonly<Record<string, unknown>>

export interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: Block[]
}

/** A block of the conversation, and where it stands in the log. */
export interface Entry {
  readonly role: Message['role']
  readonly block: Block
  /** Number of the event that brought it into the conversation; infinite for one whose number is not known here. */
  readonly seq: number
  /** An estimate. */
  readonly tokens: number
}

/** An estimate of the tokens of one block. */
export const tokensOfBlock = (block: Block): number => estimateInputTokens({ system: [block] })

/** Blocks of one side in a row are one message: the API wants the roles to alternate. */
export function messagesOf(blocks: readonly Pick<Entry, 'role' | 'block'>[]): Message[] {
  const messages: Message[] = []
  for (const { role, block } of blocks) {
    const last = messages.at(-1)
    if (last?.role === role) last.content.push(block)
    else messages.push({ role, content: [block] })
  }
  return messages
}

/** A tool result without its content: it says that it was trimmed, and how long it was. */
export function trimmed(result: Block): Block {
  const text = `[trimmed to save room: this result had ${lengthOf(result['content'])} characters]`
  return { ...result, content: [{ type: 'text', text }] }
}

/** Characters of the content of a result. */
function lengthOf(content: unknown): number {
  const lengths = listOf(content).map(
    part => (textIn(isRecord(part) ? part['text'] : part) ?? JSON.stringify(part)).length,
  )
  return typeof content === 'string' ? content.length : lengths.reduce((sum, length) => sum + length, 0)
}

/** What the model reads in place of the beginning of its conversation. */
export const summaryOf = (summary: string): Block => ({
  type: 'text',
  text: `The conversation before this point was replaced by a summary, to save room:\n\n<summary>\n${summary}\n</summary>\n\nContinue from there.`,
})
