import { estimateInputTokens } from '../../../gateway/tokens/estimate.ts'
import { type Json, listOf, recordOf, textOf } from '../../../platform/json.ts'
import type { Block, Message } from './blocks.ts'

/** About as many bytes are a token; fewer than most texts have, so that what is cut to so many fits. */
const bytesPerToken = 3

/** What the summary has to be, in at most `words` words. */
const orderOf = (words: number): string =>
  `Write a summary of the conversation so far, in at most ${words} words, for a model that continues the work and sees nothing \
else of it. State what the user wants, in the user's words where they matter; what was done and found, with exact names, paths, \
commands, figures and errors; decisions and their reasons; what is left to do, and what comes next. Keep what an earlier summary \
says as far as it still matters. Answer with the summary alone, and call no tools.`

interface Summarized {
  /** The request that would come next, without messages. */
  readonly base: Json
  /** What is to be summarized. */
  readonly messages: readonly Message[]
  /** True while a call in `messages` has no result: no provider takes it then. */
  readonly isOpen: boolean
  /** Tokens that the request may have, by estimate. */
  readonly room: number
  readonly words: number
}

/**
 * The request for a summary: the conversation itself with the order behind it, so that the provider's prompt cache is read;
 * where that does not fit, the conversation as one text that is cut to what does.
 */
export function summaryRequest({ base, messages, isOpen, room, words }: Summarized): Json {
  // A summary needs no thinking, and what thinks may have no tokens left for it.
  const { thinking: _, output_config: __, messages: ___, ...settings } = base
  const order = { type: 'text', text: orderOf(words) }
  const whole = { ...settings, messages: withBlock(messages, order) }
  if (!isOpen && estimateInputTokens(whole) <= room) return whole
  const { tools: _tools, system: _system, ...alone } = settings
  const text = `<conversation>\n${transcriptOf(messages, Math.max(400, room - 300) * bytesPerToken)}\n</conversation>`
  return { ...alone, messages: [{ role: 'user', content: [{ type: 'text', text }, order] }] }
}

/** The messages with a block of the user behind them. */
function withBlock(messages: readonly Message[], block: Block): Message[] {
  const last = messages.at(-1)
  if (last?.role !== 'user') return [...messages, { role: 'user', content: [block] }]
  return [...messages.slice(0, -1), { role: 'user', content: [...last.content, block] }]
}

/** Limits for the length of one block, in characters: the largest with which all fits is used. */
const blockLengths = [20_000, 4_000, 1_000, 300]

/** A conversation as text of at most about `maxBytes`: long blocks lose their middle first, then the whole does. */
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
      content.map(block => `${speakerOf(role, block)}: ${withoutMiddle(wordsOf(block), length)}`),
    )
    .join('\n\n')

function speakerOf(role: Message['role'], { type, name }: Block): string {
  if (type === 'tool_use') return `Call of ${textOf(name)}`
  return type === 'tool_result' ? 'Result' : role === 'user' ? 'User' : 'Assistant'
}

function wordsOf(block: Block): string {
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

/** A text of about `length` characters: what is too much is left out in the middle, and counted. */
export function withoutMiddle(text: string, length: number): string {
  if (text.length <= length) return text
  const side = Math.floor(length / 2)
  const cut = `${text.slice(0, side)}\n[${text.length - 2 * side} characters left out]\n${text.slice(text.length - side)}`
  return cut.toWellFormed()
}
