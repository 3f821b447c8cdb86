import { type Fields, isRecord, recordOf } from '../../../data/json.ts'
import { type Format, textOf } from './form.ts'

/** A tool that the caller runs, in the words of Messages. */
export interface FunctionTool {
  readonly name: string
  readonly description: string | undefined
  readonly input_schema: unknown
  readonly strict: unknown
  /** Fields that all formats have at the top: `cache_control`. */
  readonly rest: Fields
}

/** Example for the field of tools. */
export const exampleTools = JSON.stringify(
  [
    {
      name: 'get_weather',
      description: 'Returns the current weather of a city.',
      input_schema: {
        type: 'object',
        properties: { city: { type: 'string', description: 'Name of the city' } },
        required: ['city'],
      },
    },
  ],
  null,
  2,
)

/** Example for the field of the schema. */
export const exampleSchema = JSON.stringify(
  {
    type: 'object',
    properties: { answer: { type: 'string' }, confidence: { type: 'number' } },
    required: ['answer', 'confidence'],
    additionalProperties: false,
  },
  null,
  2,
)

/** Reads a function of any of the three formats; undefined for a tool that the provider runs. */
export function readFunction(tool: unknown): FunctionTool | undefined {
  if (!isRecord(tool)) return undefined
  const { type, function: inner, ...fields } = tool
  if (type === 'function' && isRecord(inner)) return functionOf({ ...fields, ...inner }, inner['parameters'])
  if (type === 'function') return functionOf(fields, fields['parameters'])
  const isOwn = type === undefined || type === null || type === 'custom'
  return isOwn && 'input_schema' in fields ? functionOf(fields, fields['input_schema']) : undefined
}

function functionOf(fields: Fields, schema: unknown): FunctionTool {
  const { name, description, parameters: _, input_schema: __, strict, ...rest } = fields
  return {
    name: textOf(name),
    description: typeof description === 'string' ? description : undefined,
    input_schema: schema ?? { type: 'object', properties: {} },
    strict,
    rest,
  }
}

/** Returns tools in the words of a format, whichever of the three they were written in. Others pass unchanged. */
export const toolsIn = (format: Format, tools: readonly unknown[]): readonly unknown[] =>
  tools.map(tool => {
    const read = readFunction(tool)
    return read && !isIn(format, recordOf(tool)) ? written(format, read) : tool
  })

function isIn(format: Format, { type, function: inner }: Fields): boolean {
  if (format === 'messages') return type !== 'function'
  return type === 'function' && isRecord(inner) === (format === 'chat')
}

function written(format: Format, { name, description, input_schema: schema, strict, rest }: FunctionTool): Fields {
  const common = { name, ...(description !== undefined && { description }) }
  const strictness = typeof strict === 'boolean' ? { strict } : {}
  switch (format) {
    case 'messages':
      return { ...common, input_schema: schema, ...strictness, ...rest }
    case 'chat':
      return { type: 'function', function: { ...common, parameters: schema, ...strictness }, ...rest }
    case 'responses':
      return { type: 'function', ...common, parameters: schema, ...strictness, ...rest }
  }
}
