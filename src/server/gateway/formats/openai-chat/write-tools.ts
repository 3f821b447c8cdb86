import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, listOf, recordOf, textOf } from '../../../platform/json.ts'
import type { Conversion } from './write-content.ts'

interface ToolSettings {
  readonly tools?: readonly Json[]
  readonly tool_choice?: string | Json
  readonly parallel_tool_calls?: false
}

interface Options extends Pick<Conversion, 'lose'> {
  /** False for models that refuse the setting. */
  readonly takesParallelSetting: boolean
}

/** The tools of a request and how they may be chosen. Throws AppError for a tool that runs at Anthropic. */
export function toolSettings(request: Json, options: Options): ToolSettings {
  const tools = listOf(request['tools']).map((tool, index) => toolOf(tool, `tools.${index}`, options))
  const choice = recordOf(request['tool_choice'])
  if (tools.length === 0) {
    if (isForced(choice)) options.lose('tool_choice', 'dropped')
    return {}
  }
  return { tools, ...choiceOf(choice, tools, options), ...parallelOf(choice, options) }
}

/** Fields that are carried over, or that change nothing for whoever gets the whole request at once. */
const knownFields = new Set(['type', 'name', 'description', 'input_schema', 'strict', 'eager_input_streaming'])

function toolOf(tool: unknown, path: string, { lose }: Options): Json {
  if (!isRecord(tool)) throw invalid(`${path} must be an object`)
  const type = textOf(tool['type'])
  const name = textOf(tool['name'])
  if (name === '') throw invalid(`${path}.name must be a string`)
  if (type !== '' && type !== 'custom') throw invalid(serverTool(path, type))
  for (const [field, value] of Object.entries(tool)) {
    if (!knownFields.has(field) && value !== null && value !== false) lose(`${path}.${field}`, 'dropped')
  }
  return { type: 'function', function: functionOf(tool, name) }
}

const serverTool = (path: string, type: string): string =>
  `${path}: a tool of type ${type.slice(0, 100)} runs at Anthropic and is not available at this model's provider`

function functionOf(tool: Json, name: string): Json {
  const { description, input_schema: schema, strict } = tool
  return {
    name,
    ...(typeof description === 'string' && { description }),
    ...(isRecord(schema) && { parameters: withProperties(schema) }),
    ...(typeof strict === 'boolean' && { strict }),
  }
}

/** OpenAI refuses an object without its list of properties. */
const withProperties = (schema: Json): Json =>
  schema['type'] === 'object' && schema['properties'] == null ? { ...schema, properties: {} } : schema

const isForced = (choice: Json): boolean => choice['type'] === 'any' || choice['type'] === 'tool'

function choiceOf(choice: Json, tools: readonly Json[], { lose }: Options): Pick<ToolSettings, 'tool_choice'> {
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
      lose('tool_choice', 'dropped')
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
  options.lose('tool_choice.disable_parallel_tool_use', 'dropped')
  return {}
}
