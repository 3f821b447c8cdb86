import { recordOf } from '../../../platform/json.ts'
import { tokenCount } from '../../counting/token-counts.ts'
import type { Codec } from '../../translated/codec.ts'
import { answerEvents } from './answer.ts'
import { createResponsesDecoder } from './decoder.ts'
import { problemOf } from './problem.ts'
import { countRequest, responsesRequest } from './request.ts'

/** OpenAI's Responses API: `POST /responses`. */
export const openaiResponses: Codec = {
  framing: 'sse',
  request: responsesRequest,
  decoder: createResponsesDecoder,
  answer: answerEvents,
  problem: problemOf,
  counting: { request: countRequest, answer: body => tokenCount(recordOf(body)['input_tokens']) },
}
