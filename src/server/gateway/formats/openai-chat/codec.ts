import type { Codec } from '../../core/codec.ts'
import { problemOf } from './errors.ts'
import { answerEvents, createDecoder } from './read-answer.ts'
import { chatRequest } from './write-request.ts'

/** OpenAI's Chat Completions, which most other servers speak too. Reasoning is counted, or shown as text; never signed. */
export const openaiChat = {
  framing: 'sse',
  request: chatRequest,
  decoder: createDecoder,
  answer: answerEvents,
  problem: problemOf,
} satisfies Codec
