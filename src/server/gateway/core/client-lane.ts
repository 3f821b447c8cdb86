import { invalid } from '../../platform/errors.ts'
import { geminiCountLane } from '../formats/gemini/count-lane.ts'
import { geminiIngress } from '../formats/gemini/read-request.ts'
import { chatIngress } from '../formats/openai-chat/read-request.ts'
import { responsesIngress } from '../formats/openai-responses/read-request.ts'
import type { CallKind, Lane } from './call.ts'
import { pivotLane } from './pivot-lane.ts'

/** The lane for calls of `kind`, by way of one that takes calls in Anthropic's format. */
export function clientLane(kind: CallKind, anthropic: Lane): Lane {
  switch (kind) {
    case 'messages':
    case 'count_tokens':
      return anthropic
    case 'gemini':
      return pivotLane(geminiIngress, anthropic)
    case 'gemini_count':
      return geminiCountLane(anthropic)
    case 'chat':
      return pivotLane(chatIngress, anthropic)
    case 'responses':
      return pivotLane(responsesIngress, anthropic)
    case 'embeddings':
      return noEmbeddings
  }
}

const noEmbeddings: Lane = async ({ ask }) => {
  throw invalid(`model ${ask.model.slice(0, 200)} has no embeddings: its upstream does not speak OpenAI's format`)
}
