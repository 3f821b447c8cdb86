import { openAiError } from '../../../contract/openai.ts'
import { sseFrame } from '../../../contract/sse.ts'
import { recordOf } from '../../platform/json.ts'
import { responsesUsageOf } from '../counting/responses-usage.ts'
import { stopReasonOf } from './answer-fields.ts'
import { openAiRequests } from './openai-request.ts'
import { countedOr, readJson } from './read-json.ts'
import { createResponsesTap } from './responses-tap.ts'
import type { Wire } from './wire.ts'

/** OpenAI's Responses. Azure's base address is that of its v1 API, as for Chat Completions. */
export const openAiResponses: Wire = {
  ...openAiRequests('/responses'),
  createTap: createResponsesTap,
  readAnswer(body) {
    const response = recordOf(readJson(body))
    return {
      usage: countedOr(responsesUsageOf(response['usage'], response['output']), response['output']),
      stopReason: stopReasonOf(response),
    }
  },
  failure({ code, message }, frames) {
    const { error } = openAiError(code, message)
    // Each event of this format is numbered, from 0.
    const data = { type: 'error', code: error.code, message, param: null, sequence_number: frames }
    return Buffer.from(sseFrame({ event: 'error', data: JSON.stringify(data) }))
  },
}
