import { type Fields, recordOf } from '../../../data/json.ts'
import { isBlock, listOf, textOf } from './form.ts'
import { type LoadedContent, settingsOf, textOfParts, thinkingOf, whenFilled, without } from './load-parts.ts'

const known = [
  'model',
  'messages',
  'max_tokens',
  'system',
  'temperature',
  'thinking',
  'output_config',
  'tools',
  'stream',
]

/** Reads a request of Messages. */
export function loadMessages(body: Fields): LoadedContent {
  const config = recordOf(body['output_config'])
  const { schema, type } = recordOf(config['format'])
  const isSchema = type === 'json_schema'
  const configRest = without(config, isSchema ? ['effort', 'format'] : ['effort'])
  return {
    system: textOfParts(body['system']),
    turns: listOf(body['messages'])
      .map(recordOf)
      .map(({ role, content }) => ({
        role: role === 'assistant' ? 'assistant' : 'user',
        content: typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).filter(isBlock),
      })),
    settings: {
      ...settingsOf({
        maxTokens: body['max_tokens'],
        temperature: body['temperature'],
        effort: config['effort'],
        schema: isSchema ? schema : undefined,
      }),
      ...thinkingOf(body['thinking']),
    },
    rest: { ...without(body, known), ...whenFilled('output_config', configRest) },
    notes: systemNotes(body['system']),
  }
}

/** The form has one text for the system prompt. */
function systemNotes(system: unknown): readonly string[] {
  const blocks = listOf(system).map(recordOf)
  const isCached = blocks.some(block => block['cache_control'] !== undefined)
  const types = blocks.map(({ type }) => textOf(type)).filter(type => type !== 'text')
  return [
    ...(blocks.length > 1 ? [`The ${blocks.length} blocks of the system prompt are one text.`] : []),
    ...(isCached ? ['The marks for caching in the system prompt are left out.'] : []),
    ...(types.length > 0 ? [`Blocks of type ${types.join(', ')} in the system prompt are left out.`] : []),
  ]
}
