import { type Fields, recordOf } from '../../../data/json.ts'
import { type Block, listOf, textOf } from './form.ts'
import {
  joined,
  type LoadedContent,
  leftOutTypes,
  readParts,
  settingsOf,
  textOfParts,
  toolResult,
  toolUse,
  whenFilled,
  without,
} from './load-parts.ts'

const known = [
  'model',
  'input',
  'instructions',
  'max_output_tokens',
  'temperature',
  'reasoning',
  'text',
  'tools',
  'stream',
  'store',
]

interface ReadItem {
  readonly role: 'user' | 'assistant'
  readonly content: readonly Block[]
  readonly unknown: readonly string[]
}

/** Reads a request of Responses. */
export function loadResponses(body: Fields): LoadedContent {
  const { input } = body
  const all = typeof input === 'string' ? [{ role: 'user', content: input }] : listOf(input).map(recordOf)
  const isSystem = ({ role }: Fields) => role === 'system' || role === 'developer'
  const items = all.filter(item => !isSystem(item)).map(itemOf)
  const instructions = [
    textOf(body['instructions']),
    ...all.filter(isSystem).map(({ content }) => textOfParts(content)),
  ]
  const text = recordOf(body['text'])
  const { type, schema } = recordOf(text['format'])
  const isSchema = type === 'json_schema'
  const reasoning = recordOf(body['reasoning'])
  return {
    system: instructions.filter(each => each !== '').join('\n\n'),
    turns: joined(items),
    settings: settingsOf({
      maxTokens: body['max_output_tokens'],
      temperature: body['temperature'],
      effort: reasoning['effort'],
      schema: isSchema ? schema : undefined,
    }),
    rest: {
      ...without(body, known),
      ...whenFilled('text', without(text, isSchema ? ['format'] : [])),
      ...whenFilled('reasoning', without(reasoning, ['effort'])),
    },
    notes: leftOutTypes(items.flatMap(({ unknown }) => unknown)),
  }
}

function itemOf(item: Fields): ReadItem {
  switch (item['type'] ?? 'message') {
    case 'message': {
      const { blocks, unknown } = readParts(item['content'])
      return { role: item['role'] === 'assistant' ? 'assistant' : 'user', content: blocks, unknown }
    }
    case 'function_call':
      return { role: 'assistant', content: [toolUse(item['call_id'], item['name'], item['arguments'])], unknown: [] }
    case 'function_call_output':
      return { role: 'user', content: [toolResult(item['call_id'], item['output'])], unknown: [] }
    default:
      return { role: 'user', content: [], unknown: [textOf(item['type'])] }
  }
}
