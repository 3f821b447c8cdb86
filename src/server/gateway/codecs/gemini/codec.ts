import { countOf, isRecord } from '../../../platform/json.ts'
import type { Codec } from '../../translated/codec.ts'
import { wholeAnswer } from './answer.ts'
import { GeminiDecoder } from './decoder.ts'
import { geminiProblem } from './problem.ts'
import { countRequest, geminiRequest } from './request.ts'

/** Google Gemini, on the Gemini API and on Vertex AI. */
export const gemini: Codec = {
  framing: 'sse',
  request: geminiRequest,
  decoder: context => new GeminiDecoder(context),
  answer: wholeAnswer,
  problem: geminiProblem,
  counting: {
    request: countRequest,
    answer: body => (isRecord(body) ? countOf(body['totalTokens']) : undefined),
  },
}
