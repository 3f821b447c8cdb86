import { invalid } from '../../platform/errors.ts'
import type { CallKind, Lane } from '../call.ts'
import { chatIngress } from './chat/chat-ingress.ts'
import { geminiCountLane } from './gemini/count-lane.ts'
import { geminiIngress } from './gemini/gemini-ingress.ts'
import { pivotLane } from './pivot-lane.ts'
import { responsesIngress } from './responses/responses-ingress.ts'

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
