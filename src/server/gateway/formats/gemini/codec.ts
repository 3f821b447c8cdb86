import { countOf, isRecord } from '../../../platform/json.ts'
import type { Codec } from '../../core/codec.ts'
import { geminiProblem } from './errors.ts'
import { GeminiDecoder, wholeAnswer } from './read-answer.ts'
import { countRequest, geminiRequest } from './write-request.ts'

/** Codec of Google Gemini, for the Gemini API and Vertex AI. */
export const gemini = {
  framing: 'sse',
  request: geminiRequest,
  decoder: context => new GeminiDecoder(context),
  answer: wholeAnswer,
  problem: geminiProblem,
  counting: {
    request: countRequest,
    answer: body => (isRecord(body) ? countOf(body['totalTokens']) : undefined),
  },
} satisfies Codec
