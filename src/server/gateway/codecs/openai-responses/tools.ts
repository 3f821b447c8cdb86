import { invalid } from '../../../platform/errors.ts'
import { compact, isRecord, type Json, textOf } from '../../../platform/json.ts'
import { noEquivalent } from './content.ts'
import type { Note } from './conversion.ts'
import { fitsStrict } from './strict-schema.ts'

/** The fields of the upstream's body that are about tools. Throws for a server tool that the provider does not have. */
export function toolFields({ tools, tool_choice: choice }: Json, note: Note): Json {
  const list = Array.isArray(tools) ? tools : []
  const converted = list.map((tool: unknown, index) => toolOf(tool, `tools.${index}`, note))
  if (converted.length === 0) {
    if (isRecord(choice) && choice['type'] !== 'auto' && choice['type'] !== 'none') note('tool_choice', 'dropped')
    return {}
  }
  const isSerial = isRecord(choice) && choice['disable_parallel_tool_use'] === true
  return compact({
    tools: converted,
    tool_choice: toolChoice(choice, list),
    parallel_tool_calls: isSerial ? false : undefined,
    // Only built-in tools are counted upstream, and web search is the only one that goes there.
    max_tool_calls: list.filter(isWebSearch).find(tool => typeof tool['max_uses'] === 'number')?.['max_uses'],
  })
}

const isWebSearch = (tool: unknown): tool is Json => isRecord(tool) && /^web_search_\d+$/.test(textOf(tool['type']))

function toolOf(tool: unknown, path: string, note: Note): Json {
  if (!isRecord(tool)) throw invalid(`${path} must be an object`)
  if (isWebSearch(tool)) return webSearch(tool)
  const { type } = tool
  if (type !== undefined && type !== null && type !== 'custom') {
    throw noEquivalent(path, `a tool of type ${textOf(type).slice(0, 100)}`)
  }
  if (typeof tool['name'] !== 'string') throw invalid(`${path}.name must be a string`)
  if (Array.isArray(tool['input_examples'])) note(`${path}.input_examples`, 'dropped')
  return functionTool(tool, path, note)
}

function functionTool(tool: Json, path: string, note: Note): Json {
  const schema = isRecord(tool['input_schema']) ? tool['input_schema'] : { type: 'object' }
  const isStrict = tool['strict'] === true && fitsStrict(schema)
  if (tool['strict'] === true && !isStrict) note(`${path}.strict`, 'dropped')
  return compact({
    type: 'function',
    name: tool['name'],
    description: typeof tool['description'] === 'string' ? tool['description'] : undefined,
    // The upstream refuses an object schema that lists no properties at all.
    parameters: isRecord(schema['properties']) ? schema : { ...schema, properties: {} },
    strict: isStrict,
  })
}

function webSearch(tool: Json): Json {
  const { allowed_domains: allowed, blocked_domains: blocked, user_location: place } = tool
  const filters = compact({ allowed_domains: listOf(allowed), blocked_domains: listOf(blocked) })
  const { city, region, country, timezone } = isRecord(place) ? place : {}
  return compact({
    type: 'web_search',
    filters: Object.keys(filters).length > 0 ? filters : undefined,
    user_location: isRecord(place) ? compact({ type: 'approximate', city, region, country, timezone }) : undefined,
  })
}

const listOf = (value: unknown): unknown => (Array.isArray(value) && value.length > 0 ? value : undefined)

function toolChoice(choice: unknown, tools: readonly unknown[]): unknown {
  if (choice === undefined || choice === null) return undefined
  const { type, name } = isRecord(choice) ? choice : {}
  switch (type) {
    case 'auto':
    case 'none':
      return type
    case 'any':
      return 'required'
    case 'tool':
      return tools.filter(isWebSearch).some(tool => tool['name'] === name)
        ? { type: 'web_search' }
        : { type: 'function', name: textOf(name) }
    default:
      throw invalid('tool_choice.type must be auto, any, tool or none')
  }
}
