import { invalid } from '../../../platform/errors.ts'
import { compact, isRecord, type Json, recordOf, textOf } from '../../../platform/json.ts'
import { isClaudeBefore, isClaudeFrom } from '../../upstream/bedrock.ts'
import { cachePoints } from './cache-points.ts'
import type { Conversion } from './conversion.ts'

interface Options {
  /** Tool specifications and cache points. */
  readonly tools: readonly Json[]
  readonly choice: unknown
  /** True when the conversation holds calls or results. */
  readonly hasCalls: boolean
}

/** `toolConfig`, and the choice in Claude's own words where Converse has none for it: never both. */
interface ToolSettings {
  readonly toolConfig: Json | undefined
  /** For `additionalModelRequestFields`. */
  readonly claudeChoice: Json | undefined
}

/** How tools may be used. */
export function toolSettings({ tools, choice, hasCalls }: Options, conversion: Conversion): ToolSettings {
  const { type, name, disable_parallel_tool_use: isSerial } = recordOf(choice)
  if (tools.length === 0) return { toolConfig: undefined, claudeChoice: undefined }
  const isClaude = conversion.model.family === 'claude'
  if (type === 'none')
    return isClaude ? { toolConfig: { tools }, claudeChoice: { type } } : without(hasCalls, conversion)
  const wanted = possible(type, textOf(name), conversion)
  if (isSerial === true && isClaude)
    return { toolConfig: { tools }, claudeChoice: { ...wanted, disable_parallel_tool_use: true } }
  if (isSerial === true) conversion.note('tool_choice.disable_parallel_tool_use', 'dropped')
  const toolChoice = converseChoice(wanted)
  return { toolConfig: { tools, ...(toolChoice && { toolChoice }) }, claudeChoice: undefined }
}

/** A model that must not call anything gets nothing to call. */
function without(hasCalls: boolean, { note }: Conversion): ToolSettings {
  note('tool_choice', 'tools_dropped')
  return { toolConfig: hasCalls ? { tools: [placeholderTool] } : undefined, claudeChoice: undefined }
}

interface Choice {
  readonly type: 'auto' | 'any' | 'tool'
  readonly name?: string
}

/** What the model lets us ask for: some cannot be forced to call a tool. */
function possible(type: unknown, name: string, { model, note }: Conversion): Choice {
  if (type !== 'any' && type !== 'tool') return { type: 'auto' }
  if (isClaudeFrom(model, 505) || model.family === 'meta') {
    note('tool_choice', 'auto')
    return { type: 'auto' }
  }
  return type === 'any' ? { type } : { type, name }
}

function converseChoice({ type, name }: Choice): Json | undefined {
  switch (type) {
    case 'auto':
      // What is there without it; some models refuse to be told.
      return undefined
    case 'any':
      return { any: {} }
    case 'tool':
      return { tool: { name } }
  }
}

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
      name: textOf(tool['name']),
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
const placeholderTool: Json = {
  toolSpec: {
    name: 'no_tool_available',
    description: 'There is no tool any more. Never call this one; answer in text.',
    inputSchema: { json: { type: 'object', properties: {} } },
  },
}
