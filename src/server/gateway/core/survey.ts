import { listOf, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import type { CanonicalRequest } from './codec.ts'

/** What one look at a request tells, so that steps with nothing to do take no time. */
export interface Survey {
  /** Anything that is shown, wherever it stands. */
  readonly hasImages: boolean
  /** Thinking of the model's, its text kept secret or not. */
  readonly hasThinking: boolean
  /** No call has the id of another, and each result follows its call. */
  readonly isMatched: boolean
  /** All names of tools, without empty ones: those are for the format to refuse. */
  readonly toolNames: ReadonlySet<string>
}

/** Looks at every block of a request. */
export function surveyOf({ tools, tool_choice: choice, messages }: CanonicalRequest): Survey {
  const survey = { hasImages: false, hasThinking: false, isMatched: true, toolNames: new Set<string>() }
  const callIds = new Set<unknown>()
  for (const { name } of recordsOf(tools)) survey.toolNames.add(textOf(name))
  survey.toolNames.add(textOf(recordOf(choice)['name']))
  for (const message of listOf(messages)) {
    for (const block of listOf(recordOf(message)['content'])) {
      const { type, id, name, tool_use_id: callId, content } = recordOf(block)
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
          callIds.add(id)
          break
        case 'tool_result':
          survey.isMatched &&= callIds.has(callId)
          survey.hasImages ||= listOf(content).some(inner => recordOf(inner)['type'] === 'image')
      }
    }
  }
  survey.toolNames.delete('')
  return survey
}
