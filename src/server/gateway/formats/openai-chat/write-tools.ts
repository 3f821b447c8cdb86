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
  const given = listOf(request['tools']).map((tool, index) => toolOf(tool, `tools.${index}`, options))
  const tools = given.filter(tool => tool !== undefined)
  const choice = recordOf(request['tool_choice'])
  if (tools.length === 0) {
    if (isForced(choice)) options.lose('tool_choice', 'dropped')
    return {}
  }
  return { tools, ...choiceOf(choice, tools, options), ...parallelOf(choice, options) }
}

/** Fields that are carried over, or that change nothing for whoever gets the whole request at once. */
const knownFields = new Set(['type', 'name', 'description', 'input_schema', 'strict', 'eager_input_streaming'])

function toolOf(tool: unknown, path: string, { lose }: Options): Json | undefined {
  if (!isRecord(tool)) throw invalid(`${path} must be an object`)
  const type = textOf(tool['type'])
  // With all tools in the request there is nothing to search for.
  if (type.startsWith('tool_search_tool_')) {
    lose(path, 'dropped')
    return undefined
  }
  const name = textOf(tool['name'])
  if (name === '') throw invalid(`${path}.name must be a string`)
  const known = clientTool(type)
  if (known) {
    lose(path, 'sent_as_function')
    return { type: 'function', function: { name, ...known } }
  }
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

const text = { type: 'string' }
const line = { type: 'integer', description: 'For insert: the line behind which the text goes; 0 is the top' }
const lines = { type: 'array', items: { type: 'integer' }, description: 'First and last line, counted from 1' }

const bash = {
  description: 'Runs a command in a bash session that lasts from call to call.',
  parameters: {
    type: 'object',
    properties: {
      command: { ...text, description: 'The command. Required unless the session is restarted' },
      restart: { type: 'boolean', description: 'True starts a new session' },
    },
  },
}

const editor = {
  description: 'Views, creates and edits text files.',
  parameters: {
    type: 'object',
    properties: {
      command: { ...text, enum: ['view', 'create', 'str_replace', 'insert'] },
      path: { ...text, description: 'Absolute path of a file or folder' },
      view_range: lines,
      file_text: { ...text, description: 'For create: the whole content' },
      old_str: { ...text, description: 'For str_replace: the text to replace, which must occur once' },
      new_str: { ...text, description: 'For str_replace: the new text' },
      insert_line: line,
      insert_text: { ...text, description: 'For insert: the text' },
    },
    required: ['command', 'path'],
  },
}

const memory = {
  description: 'Keeps notes in files below /memories, which last from conversation to conversation.',
  parameters: {
    type: 'object',
    properties: {
      command: { ...text, enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
      path: { ...text, description: 'Path below /memories, for all commands but rename' },
      view_range: lines,
      file_text: { ...text, description: 'For create: the whole content' },
      old_str: { ...text, description: 'For str_replace: the text to replace, which must occur once' },
      new_str: { ...text, description: 'For str_replace: the new text' },
      insert_line: line,
      insert_text: { ...text, description: 'For insert: the text' },
      old_path: { ...text, description: 'For rename' },
      new_path: { ...text, description: 'For rename' },
    },
    required: ['command'],
  },
}

const families: readonly (readonly [string, typeof bash | typeof editor | typeof memory])[] = [
  ['bash_2', bash],
  ['text_editor_2', editor],
  ['memory_2', memory],
]

/**
 * What a tool means that Anthropic defines and the client runs: Claude knows its input by heart, others must be told.
 * Undefined for any other type.
 */
const clientTool = (type: string): { readonly description: string; readonly parameters: Json } | undefined =>
  families.find(([start]) => type.startsWith(start))?.[1]
