import type { Codec } from '../../core/codec.ts'
import { problemOf } from './errors.ts'
import { answerEvents, createDecoder } from './read-answer.ts'
import { chatRequest } from './write-request.ts'

/** Codec of OpenAI's Chat Completions, which most other servers support too. Upstreams do not sign reasoning. */
export const openaiChat = {
  framing: 'sse',
  request: chatRequest,
  decoder: createDecoder,
  answer: answerEvents,
  problem: problemOf,
} satisfies Codec
