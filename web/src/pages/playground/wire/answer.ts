import { ApiError } from '../../../../../src/client/index.ts'
import type { SseFrame } from '../../../../../src/contract/sse.ts'
import { type Fields, isRecord, parseJson, recordOf } from '../../../data/json.ts'
import { type Block, textOf } from './form.ts'

/** A part of an answer. A tool call has its input as the text that arrived so far. */
export type AnswerBlock =
  | { readonly kind: 'text'; readonly text: string; readonly citations?: readonly unknown[] }
  | { readonly kind: 'thinking'; readonly text: string; readonly signature?: string }
  | { readonly kind: 'tool'; readonly id: string; readonly name: string; readonly input: string }
  | { readonly kind: 'other'; readonly value: Block }

/** Tokens as the stream reported them. */
export interface AnswerUsage {
  readonly input: number
  readonly output: number
  readonly cached: number
}

/** What has arrived of an answer. */
export interface Answer {
  readonly blocks: readonly AnswerBlock[]
  readonly stopReason: string | undefined
  readonly usage: AnswerUsage | undefined
  /** True after the last event of the format. */
  readonly isComplete: boolean
  /** Error event of the stream. */
  readonly error: ApiError | undefined
}

export const emptyAnswer: Answer = {
  blocks: [],
  stopReason: undefined,
  usage: undefined,
  isComplete: false,
  error: undefined,
}

/** Reads the frames of one answer. */
export type AnswerReader = (before: Answer, frame: Frame) => Answer

/** A frame with its data as JSON. */
export interface Frame {
  readonly event: string | undefined
  readonly data: Fields
  /** True for `[DONE]`. */
  readonly isEnd: boolean
}

/** Parses a frame; undefined for data that is not JSON. */
export function frameOf({ event, data }: SseFrame): Frame | undefined {
  if (data === '[DONE]') return { event, data: {}, isEnd: true }
  const { value } = parseJson(data)
  return isRecord(value) ? { event, data: value, isEnd: false } : undefined
}

/** Returns the blocks with one changed. */
export const replaced = (blocks: readonly AnswerBlock[], at: number, block: AnswerBlock): readonly AnswerBlock[] =>
  blocks.map((each, index) => (index === at ? block : each))

/** Returns the blocks with a piece of text added to the last one, or to a new one when the last is of another kind. */
export function appended(
  blocks: readonly AnswerBlock[],
  kind: 'text' | 'thinking',
  piece: string,
): readonly AnswerBlock[] {
  if (piece === '') return blocks
  const last = blocks.at(-1)
  if (last?.kind !== kind) return [...blocks, { kind, text: piece }]
  return replaced(blocks, blocks.length - 1, { ...last, text: last.text + piece })
}

const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  insufficient_quota: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  overloaded_error: 529,
  server_is_overloaded: 529,
  timeout_error: 504,
  timeout: 504,
}
/** Errors of a provider in the middle of an answer. */
const otherStatus = 502

/** Returns the error of an error event. */
export function streamError(value: unknown): ApiError {
  const { message, type, code } = recordOf(value)
  const status = statuses[textOf(code)] ?? statuses[textOf(type)] ?? otherStatus
  return new ApiError(textOf(message) || 'the answer ended with an error', {
    status,
    type: textOf(type) || undefined,
    requestId: undefined,
    retryAfterMs: undefined,
  })
}

/** Returns an answer as the content of a turn, to continue from it. */
export const contentOf = ({ blocks }: Answer): readonly Block[] =>
  blocks.map(blockOf).filter((block): block is Block => block !== undefined)

function blockOf(block: AnswerBlock): Block | undefined {
  switch (block.kind) {
    case 'text':
      return block.text === '' ? undefined : { type: 'text', text: block.text }
    case 'thinking':
      // Without its signature no provider accepts it.
      return block.signature === undefined
        ? undefined
        : { type: 'thinking', thinking: block.text, signature: block.signature }
    case 'tool':
      return toolUseOf(block)
    case 'other':
      return block.value
  }
}

/** A call whose input is incomplete, since the answer was stopped, is no call. */
function toolUseOf({ id, name, input }: Extract<AnswerBlock, { kind: 'tool' }>): Block | undefined {
  const { value, problem } = parseJson(input)
  return problem === undefined ? { type: 'tool_use', id, name, input: recordOf(value) } : undefined
}
