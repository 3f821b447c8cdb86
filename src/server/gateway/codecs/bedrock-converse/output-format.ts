import { type Json, recordOf } from '../../../platform/json.ts'
import { isClaudeBefore, isClaudeFrom } from '../../upstream/bedrock-models.ts'
import type { Conversion } from './conversion.ts'

/** How the shape of an answer is asked for: by a field, or by words behind the instructions. */
export interface OutputFormat {
  readonly outputConfig?: Json
  readonly instructions?: Json
}

/** `output_config.format` for the model at hand; the older `output_format` says the same. */
export function outputFormat(request: Json, conversion: Conversion): OutputFormat {
  const { output_config: config, output_format: older } = request
  for (const field of Object.keys(recordOf(config)))
    if (field !== 'effort' && field !== 'format') conversion.note(`output_config.${field}`, 'dropped')
  const format = recordOf(recordOf(config)['format'] ?? older)
  if (format['type'] !== 'json_schema') return {}
  const schema = JSON.stringify(format['schema'] ?? {})
  if (takesSchema(conversion)) {
    const jsonSchema = { schema, name: 'answer' }
    return { outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema } } } }
  }
  conversion.note('output_config.format', 'as_instruction')
  const words =
    'Answer with one JSON value that is valid against this JSON schema, and nothing else: no other text, no code fence.'
  return { instructions: { text: `${words}\n${schema}` } }
}

/** Bedrock refuses it for the newest of Claude, and older models do not know it. */
function takesSchema({ model }: Conversion): boolean {
  const { family } = model
  if (family === 'claude') return !(isClaudeBefore(model, 405) || isClaudeFrom(model, 407))
  return family === 'openai' || family === 'mistral' || family === 'other'
}
