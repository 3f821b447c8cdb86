import { invalid } from '../../platform/errors.ts'
import { geminiCountLane } from '../formats/gemini/count-lane.ts'
import { geminiClient } from '../formats/gemini/read-request.ts'
import { chatClient } from '../formats/openai-chat/read-request.ts'
import { responsesClient } from '../formats/openai-responses/read-request.ts'
import type { CallKind, EndpointKind, Lane } from './call.ts'
import { pivotLane } from './pivot-lane.ts'

/** The lane for calls of `kind`, by way of one that takes calls in Anthropic's format. */
export function clientLane(kind: Exclude<CallKind, EndpointKind>, anthropic: Lane): Lane {
  switch (kind) {
    case 'messages':
    case 'count_tokens':
      return anthropic
    case 'gemini':
      return pivotLane(geminiClient, anthropic)
    case 'gemini_count':
      return geminiCountLane(anthropic)
    case 'chat':
      return pivotLane(chatClient, anthropic)
    case 'responses':
      return pivotLane(responsesClient, anthropic)
    case 'embeddings':
      return noEmbeddings
  }
}

const noEmbeddings: Lane = async ({ ask }) => {
  throw invalid(`model ${ask.model.slice(0, 200)} has no embeddings: its upstream does not speak OpenAI's format`)
}
