import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, listOf, recordOf, textOf } from '../../../platform/json.ts'
import { fitsStrict, withItems } from '../shared/openai-schema.ts'
import type { Conversion } from './write-content.ts'

interface ToolSettings {
  readonly tools?: readonly Json[]
  readonly tool_choice?: string | Json
  readonly parallel_tool_calls?: false
}

interface Options extends Pick<Conversion, 'note'> {
  /** False for models that reject `parallel_tool_calls`. */
  readonly takesParallelSetting: boolean
}

/** Converts the tools and the tool choice. Throws `invalid_request` for a tool that Anthropic runs. */
export function toolSettings(request: Json, options: Options): ToolSettings {
  const tools = listOf(request['tools']).map((tool, index) => toolOf(tool, `tools.${index}`, options))
  const choice = recordOf(request['tool_choice'])
  if (tools.length === 0) {
    if (isForced(choice)) options.note('tool_choice', 'dropped')
    return {}
  }
  return { tools, ...choiceOf(choice, tools, options), ...parallelOf(choice, options) }
}

/** Fields that are converted, or only affect Anthropic's streaming. */
const knownFields: ReadonlySet<string> = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'eager_input_streaming',
])

function toolOf(tool: unknown, path: string, { note }: Options): Json {
  if (!isRecord(tool)) throw invalid(`${path} must be an object`)
  const type = textOf(tool['type'])
  const name = textOf(tool['name'])
  if (name === '') throw invalid(`${path}.name must be a string`)
  if (type !== '' && type !== 'custom') throw invalid(serverTool(path, type))
  for (const [field, value] of Object.entries(tool)) {
    if (!knownFields.has(field) && value !== null && value !== false) note(`${path}.${field}`, 'dropped')
  }
  return { type: 'function', function: functionOf(tool, name, () => note(`${path}.strict`, 'dropped')) }
}

const serverTool = (path: string, type: string): string =>
  `${path}: a tool of type ${type.slice(0, 100)} runs at Anthropic and is not supported by the provider of this model`

function functionOf(tool: Json, name: string, onOpen: () => void): Json {
  const { description, input_schema: schema, strict } = tool
  const isRejected = strict === true && !fitsStrict(schema)
  if (isRejected) onOpen()
  return {
    name,
    ...(typeof description === 'string' && { description }),
    ...(isRecord(schema) && { parameters: withItems(withProperties(schema)) }),
    ...(typeof strict === 'boolean' && !isRejected && { strict }),
  }
}

/** Adds `properties` to an object schema. OpenAI rejects one without it. */
const withProperties = (schema: Json): Json =>
  schema['type'] === 'object' && schema['properties'] == null ? { ...schema, properties: {} } : schema

const isForced = (choice: Json): boolean => choice['type'] === 'any' || choice['type'] === 'tool'

function choiceOf(choice: Json, tools: readonly Json[], { note }: Options): Pick<ToolSettings, 'tool_choice'> {
  switch (choice['type']) {
    case 'auto':
    case 'none':
      return { tool_choice: choice['type'] }
    case 'any':
      return { tool_choice: 'required' }
    case 'tool': {
      const name = textOf(choice['name'])
      if (tools.some(tool => recordOf(tool['function'])['name'] === name)) {
        return { tool_choice: { type: 'function', function: { name } } }
      }
      note('tool_choice', 'dropped')
      return {}
    }
    case undefined:
      return {}
    default:
      throw invalid('tool_choice.type must be auto, any, tool or none')
  }
}

function parallelOf(choice: Json, options: Options): Pick<ToolSettings, 'parallel_tool_calls'> {
  if (choice['disable_parallel_tool_use'] !== true) return {}
  if (options.takesParallelSetting) return { parallel_tool_calls: false }
  options.note('tool_choice.disable_parallel_tool_use', 'dropped')
  return {}
}
