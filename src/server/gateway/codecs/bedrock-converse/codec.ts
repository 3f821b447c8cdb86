import { recordOf } from '../../../platform/json.ts'
import { tokenCount } from '../../counting/token-counts.ts'
import type { Codec } from '../../translated/codec.ts'
import { answerEvents } from './answer.ts'
import { ConverseDecoder } from './decoder.ts'
import { problemOf } from './problem.ts'
import { converseRequest, countRequest } from './request.ts'

/** The Converse API of Amazon Bedrock, for all of its models. */
export const bedrockConverse: Codec = {
  framing: 'aws-event-stream',
  request: converseRequest,
  decoder: context => new ConverseDecoder(context),
  answer: answerEvents,
  problem: problemOf,
  counting: {
    request: countRequest,
    answer: body => tokenCount(recordOf(body)['inputTokens']),
  },
}
