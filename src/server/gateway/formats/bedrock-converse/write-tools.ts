import { invalid } from '../../../platform/errors.ts'
import { compact, isRecord, type Json, recordOf, textOf } from '../../../platform/json.ts'
import { isClaudeBefore, isClaudeFrom } from '../../upstream/bedrock.ts'
import { cachePoints } from './cache-points.ts'
import type { Conversion } from './conversion.ts'

interface Options {
  /** Tool specifications and cache points. */
  readonly tools: readonly Json[]
  readonly choice: unknown
  /** True when the conversation contains calls or results. */
  readonly hasCalls: boolean
}

/** `toolConfig`, and Claude's own `tool_choice` for choices that Converse does not have. */
interface ToolSettings {
  readonly toolConfig: Json | undefined
  /** For `additionalModelRequestFields`. */
  readonly claudeChoice: Json | undefined
}

/** Converts the tools and the tool choice. */
export function toolSettings({ tools, choice, hasCalls }: Options, conversion: Conversion): ToolSettings {
  const { type, name, disable_parallel_tool_use: isSerial } = recordOf(choice)
  if (tools.length === 0) return { toolConfig: undefined, claudeChoice: undefined }
  const isClaude = conversion.model.family === 'claude'
  if (type === 'none')
    return isClaude ? { toolConfig: { tools }, claudeChoice: { type } } : withoutTools(hasCalls, conversion)
  const wanted = supportedChoice(type, textOf(name), conversion)
  if (isSerial === true && isClaude)
    return { toolConfig: { tools }, claudeChoice: { ...wanted, disable_parallel_tool_use: true } }
  if (isSerial === true) conversion.note('tool_choice.disable_parallel_tool_use', 'dropped')
  const toolChoice = converseChoice(wanted)
  return { toolConfig: { tools, ...(toolChoice && { toolChoice }) }, claudeChoice: undefined }
}

/** Removes the tools, for the choice `none` of models without such a choice. */
function withoutTools(hasCalls: boolean, { note }: Conversion): ToolSettings {
  note('tool_choice', 'tools_dropped')
  return { toolConfig: hasCalls ? { tools: [placeholderTool] } : undefined, claudeChoice: undefined }
}

interface Choice {
  readonly type: 'auto' | 'any' | 'tool'
  readonly name?: string
}

/** Returns the choice that the model supports. Some models cannot be forced to call a tool. */
function supportedChoice(type: unknown, name: string, { model, note }: Conversion): Choice {
  if (type !== 'any' && type !== 'tool') return { type: 'auto' }
  if (model.family === 'meta') {
    note('tool_choice', 'auto')
    return { type: 'auto' }
  }
  return type === 'any' ? { type } : { type, name }
}

function converseChoice({ type, name }: Choice): Json | undefined {
  switch (type) {
    case 'auto':
      // The default. Some models reject an explicit `auto`.
      return undefined
    case 'any':
      return { any: {} }
    case 'tool':
      return { tool: { name } }
  }
}

const knownFields: ReadonlySet<string> = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'cache_control',
  'strict',
])

/**
 * Converts the tools of a request, each with its cache point. Throws `invalid_request` for tools run or defined by
 * Anthropic, which Converse does not have.
 */
export function toolBlocks(tools: unknown, conversion: Conversion): readonly Json[] {
  if (tools === undefined || tools === null) return []
  if (!Array.isArray(tools)) throw invalid('tools must be an array')
  return tools.flatMap((tool: unknown, index) => {
    const path = `tools.${index}`
    if (!isRecord(tool)) throw invalid(`${path} must be an object`)
    const type = tool['type'] ?? 'custom'
    if (type !== 'custom')
      throw invalid(`${path}: tools of type ${String(type)} are not supported by the Converse API of Amazon Bedrock`)
    const control = tool['cache_control']
    const points = cachePoints({ control, path: `${path}.cache_control`, section: 'tools' }, conversion)
    return [toolSpec(tool, path, conversion), ...points]
  })
}

function toolSpec(tool: Json, path: string, { model, note }: Conversion): Json {
  for (const [field, value] of Object.entries(tool))
    if (!knownFields.has(field) && value !== undefined && value !== null) note(`${path}.${field}`, 'dropped')
  const description = textOf(tool['description'])
  const isStrict = tool['strict'] === true
  // Older Claude models have no strict mode, and Bedrock rejects it for the newest ones.
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

/** Returns the schema with a type, which Bedrock requires. */
function schemaOf(schema: unknown): Json {
  if (!isRecord(schema)) return { type: 'object', properties: {} }
  return 'type' in schema ? schema : { type: 'object', ...schema }
}

/** Placeholder tool: Bedrock rejects a history with tool calls in a request without tools. */
const placeholderTool: Json = {
  toolSpec: {
    name: 'no_tool_available',
    description: 'There is no tool any more. Never call this one; answer in text.',
    inputSchema: { json: { type: 'object', properties: {} } },
  },
}
