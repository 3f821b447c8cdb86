import { recordOf } from '../../../platform/json.ts'
import type { Codec } from '../../core/codec.ts'
import { tokenCount } from '../../tokens/token-counts.ts'
import { problemOf } from './errors.ts'
import { answerEvents, createResponsesDecoder } from './read-answer.ts'
import { countRequest, responsesRequest } from './write-request.ts'

/** Codec of OpenAI's Responses API: `POST /responses`. */
export const openaiResponses = {
  framing: 'sse',
  request: responsesRequest,
  decoder: createResponsesDecoder,
  answer: answerEvents,
  problem: problemOf,
  counting: { request: countRequest, answer: body => tokenCount(recordOf(body)['input_tokens']) },
} satisfies Codec
