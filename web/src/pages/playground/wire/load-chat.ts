import { type Fields, recordOf } from '../../../data/json.ts'
import { listOf, textOf } from './form.ts'
import {
  joined,
  type LoadedContent,
  leftOutTypes,
  readParts,
  settingsOf,
  textOfParts,
  toolResult,
  toolUse,
  without,
} from './load-parts.ts'

const known = [
  ...['model', 'messages', 'max_tokens', 'max_completion_tokens', 'temperature', 'reasoning_effort'],
  ...['tools', 'stream', 'stream_options'],
]

const isSystem = ({ role }: Fields): boolean => role === 'system' || role === 'developer'

/** Reads a request of Chat Completions. */
export function loadChat(body: Fields): LoadedContent {
  const messages = listOf(body['messages']).map(recordOf)
  const firstTurn = messages.findIndex(message => !isSystem(message))
  const start = firstTurn < 0 ? messages.length : firstTurn
  const turns = messages.slice(start).filter(message => !isSystem(message))
  const late = messages.length - start - turns.length
  const unknown = turns.flatMap(({ role, content }) => (role === 'tool' ? [] : readParts(content).unknown))
  const { type, json_schema: schema } = recordOf(body['response_format'])
  const isSchema = type === 'json_schema'
  return {
    system: messages
      .slice(0, start)
      .map(({ content }) => textOfParts(content))
      .join('\n\n'),
    turns: joined(turns.map(turnOf)),
    settings: settingsOf({
      maxTokens: body['max_completion_tokens'] ?? body['max_tokens'],
      temperature: body['temperature'],
      effort: body['reasoning_effort'],
      schema: isSchema ? recordOf(schema)['schema'] : undefined,
    }),
    rest: without(body, isSchema ? [...known, 'response_format'] : known),
    notes: [
      ...leftOutTypes(unknown),
      ...(late > 0 ? ['System messages in the middle of the conversation are left out.'] : []),
      ...(turns.some(({ reasoning_details: details }) => details !== undefined)
        ? ['The reasoning of earlier answers is left out.']
        : []),
    ],
  }
}

function turnOf({ role, content, tool_calls: calls, tool_call_id: id }: Fields) {
  if (role === 'tool') return { role: 'user' as const, content: [toolResult(id, content)] }
  const { blocks } = readParts(content)
  if (role !== 'assistant') return { role: 'user' as const, content: blocks }
  const used = listOf(calls).map(recordOf)
  return {
    role: 'assistant' as const,
    content: [
      ...blocks,
      ...used.map(call => {
        const { name, arguments: input } = recordOf(call['function'])
        return toolUse(textOf(call['id']), name, input)
      }),
    ],
  }
}
