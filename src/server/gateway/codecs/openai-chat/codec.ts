import type { Codec } from '../../translated/codec.ts'
import { answerEvents } from './answer.ts'
import { createDecoder } from './decoder.ts'
import { problemOf } from './problem.ts'
import { chatRequest } from './request.ts'

/** OpenAI's Chat Completions, which most other servers speak too. Reasoning is counted, or shown as text; never signed. */
export const openaiChat: Codec = {
  framing: 'sse',
  request: chatRequest,
  decoder: createDecoder,
  answer: answerEvents,
  problem: problemOf,
}
