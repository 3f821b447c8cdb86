import type { CallKind } from '../call.ts'
import { parsedObject } from '../request.ts'
import { estimateForeignInputTokens, estimateInputTokens } from './estimate.ts'

/** A guess at the input tokens of a request body in the format of `kind`, never 0. */
export function estimateInputOf(kind: CallKind, body: Buffer): number {
  const request = parsedObject(body)
  switch (kind) {
    case 'messages':
    case 'count_tokens':
      return estimateInputTokens(request)
    case 'chat':
    case 'responses':
    case 'embeddings': {
      const { messages, input, instructions, tools } = request
      return estimateForeignInputTokens({ system: instructions, messages: messages ?? input, tools })
    }
    case 'gemini':
    case 'gemini_count': {
      const { contents, tools } = request
      const system = request['systemInstruction'] ?? request['system_instruction']
      return estimateForeignInputTokens({ system, messages: contents, tools })
    }
  }
}
