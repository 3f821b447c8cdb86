import { invalid } from '../../../platform/errors.ts'
import { compact, isRecord, type Json, recordOf, textOf } from '../../../platform/json.ts'
import { isClaudeBefore, isClaudeFrom } from '../../upstream/bedrock-models.ts'
import { cachePoints } from './cache-points.ts'
import type { Conversion } from './conversion.ts'
import { sentToolName } from './tool-identity.ts'

const known = new Set(['type', 'name', 'description', 'input_schema', 'cache_control', 'strict'])

/**
 * The tools of a request, each with its cache point. Throws `invalid_request` for tools that Anthropic runs or knows by
 * type: Converse has no such.
 */
export function toolBlocks(tools: unknown, conversion: Conversion): readonly Json[] {
  if (tools === undefined || tools === null) return []
  if (!Array.isArray(tools)) throw invalid('tools must be an array')
  return tools.flatMap((tool: unknown, index) => {
    const path = `tools.${index}`
    if (!isRecord(tool)) throw invalid(`${path} must be an object`)
    const type = tool['type'] ?? 'custom'
    if (type !== 'custom') throw invalid(`${path}: the Converse API of Amazon Bedrock has no tool ${String(type)}`)
    const control = tool['cache_control']
    const points = cachePoints({ control, path: `${path}.cache_control`, section: 'tools' }, conversion)
    return [toolSpec(tool, path, conversion), ...points]
  })
}

/** The names of a request's tools, as the client knows them. */
export const toolNames = (tools: unknown): readonly string[] =>
  (Array.isArray(tools) ? tools : []).map(tool => textOf(recordOf(tool)['name']))

function toolSpec(tool: Json, path: string, { model, note }: Conversion): Json {
  for (const [field, value] of Object.entries(tool))
    if (!known.has(field) && value !== undefined && value !== null) note(`${path}.${field}`, 'dropped')
  const description = textOf(tool['description'])
  const isStrict = tool['strict'] === true
  // Older ones do not know it, and Bedrock refuses it for the newest.
  const takesStrict = !(isClaudeBefore(model, 405) || isClaudeFrom(model, 407))
  if (isStrict && !takesStrict) note(`${path}.strict`, 'dropped')
  return {
    toolSpec: compact({
      name: sentToolName(textOf(tool['name'])),
      description: description.trim() === '' ? undefined : description,
      inputSchema: { json: schemaOf(tool['input_schema']) },
      strict: isStrict && takesStrict ? true : undefined,
    }),
  }
}

/** Bedrock refuses a schema without a type. */
function schemaOf(schema: unknown): Json {
  if (!isRecord(schema)) return { type: 'object', properties: {} }
  return 'type' in schema ? schema : { type: 'object', ...schema }
}

/** Bedrock refuses a history with tool calls unless some tool is there. */
export const placeholderTool: Json = {
  toolSpec: {
    name: 'no_tool_available',
    description: 'There is no tool any more. Never call this one; answer in text.',
    inputSchema: { json: { type: 'object', properties: {} } },
  },
}
