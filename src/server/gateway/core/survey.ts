import { listOf, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import type { CanonicalRequest } from './codec.ts'

/** Result of one pass over a request, so that steps without work return at once. */
export interface Survey {
  /** Contains an image, in a message or in a tool result. */
  readonly hasImages: boolean
  /** Contains thinking or redacted thinking. */
  readonly hasThinking: boolean
  /** Ids of calls are unique, and each result follows its call. */
  readonly isMatched: boolean
  /** A call has no later result. */
  readonly hasUnanswered: boolean
  /** The input of a call is a string instead of an object. */
  readonly hasTextInput: boolean
  /** All names of tools except empty ones, which the format rejects. */
  readonly toolNames: ReadonlySet<string>
}

/** Inspects every block of a request. */
export function surveyOf({ tools, tool_choice: choice, messages }: CanonicalRequest): Survey {
  const survey = {
    hasImages: false,
    hasThinking: false,
    isMatched: true,
    hasUnanswered: false,
    hasTextInput: false,
    toolNames: new Set<string>(),
  }
  const callIds = new Set<unknown>()
  const unanswered = new Set<unknown>()
  for (const { name } of recordsOf(tools)) survey.toolNames.add(textOf(name))
  survey.toolNames.add(textOf(recordOf(choice)['name']))
  for (const message of listOf(messages)) {
    for (const block of listOf(recordOf(message)['content'])) {
      const { type, id, name, tool_use_id: callId, content, input } = recordOf(block)
      switch (type) {
        case 'image':
          survey.hasImages = true
          break
        case 'thinking':
        case 'redacted_thinking':
          survey.hasThinking = true
          break
        case 'tool_use':
          survey.toolNames.add(textOf(name))
          survey.isMatched &&= !callIds.has(id)
          survey.hasTextInput ||= typeof input === 'string'
          callIds.add(id)
          unanswered.add(id)
          break
        case 'tool_result':
          survey.isMatched &&= callIds.has(callId)
          unanswered.delete(callId)
          survey.hasImages ||= listOf(content).some(inner => recordOf(inner)['type'] === 'image')
      }
    }
  }
  survey.hasUnanswered = unanswered.size > 0
  survey.toolNames.delete('')
  return survey
}
