import { estimateInputTokens } from '../../../gateway/tokens/estimate.ts'
import { type Json, listOf, recordOf, textOf } from '../../../platform/json.ts'
import type { Block, Message } from './blocks.ts'

/** Low estimate of the bytes of a token, so that a text cut by it fits. */
const bytesPerToken = 3

/** Instruction for a summary of at most `words` words. */
const instructionFor = (words: number): string =>
  `Write a summary of the conversation so far, in at most ${words} words, for a model that continues the work and sees nothing \
else of it. State what the user wants, in the user's words where they matter; what was done and found, with exact names, paths, \
commands, figures and errors; decisions and their reasons; what is left to do, and what comes next. Keep what an earlier summary \
says as far as it still matters. Answer with the summary alone, and call no tools.`

interface SummaryInput {
  /** The next request of the session, without messages. */
  readonly base: Json
  /** Messages to summarize. */
  readonly messages: readonly Message[]
  /** True while a call in `messages` has no result: providers reject such a conversation. */
  readonly isOpen: boolean
  /** Maximum estimated tokens of the request. */
  readonly room: number
  readonly words: number
}

/**
 * Returns the request for a summary: the conversation followed by the instruction, so that the provider's prompt cache
 * applies. If that does not fit, the conversation is sent as one shortened text.
 */
export function summaryRequest({ base, messages, isOpen, room, words }: SummaryInput): Json {
  // A summary needs no thinking, which could use up the tokens of the answer.
  const { thinking: _, output_config: __, messages: ___, ...settings } = base
  const instruction = { type: 'text', text: instructionFor(words) }
  const whole = { ...settings, messages: withBlock(messages, instruction) }
  if (!isOpen && estimateInputTokens(whole) <= room) return whole
  const { tools: _tools, system: _system, ...alone } = settings
  const text = `<conversation>\n${transcriptOf(messages, Math.max(400, room - 300) * bytesPerToken)}\n</conversation>`
  return { ...alone, messages: [{ role: 'user', content: [{ type: 'text', text }, instruction] }] }
}

/** Appends a user block to the messages. */
function withBlock(messages: readonly Message[], block: Block): Message[] {
  const last = messages.at(-1)
  if (last?.role !== 'user') return [...messages, { role: 'user', content: [block] }]
  return [...messages.slice(0, -1), { role: 'user', content: [...last.content, block] }]
}

/** Limits for the length of one block, in characters: the largest one with which the whole text fits is used. */
const blockLengths = [20_000, 4_000, 1_000, 300]

/** Renders a conversation as text of about `maxBytes` at most: shortens long blocks first, then the whole text. */
export function transcriptOf(messages: readonly Message[], maxBytes: number): string {
  for (const length of blockLengths) {
    const text = linesOf(messages, length)
    if (Buffer.byteLength(text) <= maxBytes) return text
  }
  return withoutMiddle(linesOf(messages, blockLengths.at(-1) ?? 300), Math.floor(maxBytes / 3))
}

const linesOf = (messages: readonly Message[], length: number): string =>
  messages
    .flatMap(({ role, content }) =>
      content.map(block => `${labelOf(role, block)}: ${withoutMiddle(textOfBlock(block), length)}`),
    )
    .join('\n\n')

function labelOf(role: Message['role'], { type, name }: Block): string {
  if (type === 'tool_use') return `Call of ${textOf(name)}`
  return type === 'tool_result' ? 'Result' : role === 'user' ? 'User' : 'Assistant'
}

function textOfBlock(block: Block): string {
  if (block['type'] === 'text') return textOf(block['text'])
  if (block['type'] === 'tool_use') return JSON.stringify(block['input'])
  if (block['type'] !== 'tool_result') return textOf(block['thinking'])
  const { content } = block
  return typeof content === 'string'
    ? content
    : listOf(content)
        .map(part => textOf(recordOf(part)['text']))
        .join('\n')
}

/** Shortens a text to about `length` characters: replaces the middle with the number of characters left out. */
export function withoutMiddle(text: string, length: number): string {
  if (text.length <= length) return text
  const side = Math.floor(length / 2)
  const cut = `${text.slice(0, side)}\n[${text.length - 2 * side} characters left out]\n${text.slice(text.length - side)}`
  return cut.toWellFormed()
}
