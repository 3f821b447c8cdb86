import { createHash } from 'node:crypto'
import { invalid } from '../../../platform/errors.ts'
import { compact, isRecord, type Json, recordOf, recordsOf, textIn, textOf } from '../../../platform/json.ts'
import type { CanonicalRequest, CodecContext, UpstreamRequest } from '../../core/codec.ts'
import type { Degradation } from '../../core/degradations.ts'
import { extrasOf, hasBreakpoint, withBreakpointOf } from '../shared/extras.ts'
import { fitsStrict, withItems } from '../shared/openai-schema.ts'
import { type ModelTraits, type Note, traitsOf } from './conversion.ts'
import { reasoningField } from './reasoning.ts'
import { blocksOf, noEquivalent, textParts } from './write-content.ts'
import { inputItems } from './write-input.ts'

/** Converts a canonical request to `POST /responses`, with `store: false`. */
export function responsesRequest(request: CanonicalRequest, context: CodecContext): UpstreamRequest {
  const degraded: Degradation[] = []
  const note: Note = (path, action) => void degraded.push({ path, action })
  const traits = traitsOf(context)
  const { verbosity: _, logprobs, ...settings } = extrasOf(request)
  const include = [
    ...(traits.reasons ? ['reasoning.encrypted_content'] : []),
    ...(logprobs === true ? ['message.output_text.logprobs'] : []),
  ]
  const body = compact({
    ...promptFields(request, context, note),
    max_output_tokens: outputLimit(request['max_tokens'], note),
    ...samplingFields(request, traits, note),
    service_tier: serviceTier(request['service_tier'], note),
    ...userFields(request['metadata'], note),
    ...settings,
    store: false,
    include: include.length > 0 ? include : undefined,
    stream: context.stream || undefined,
    // Turns off the padding that OpenAI adds to each delta. Other providers may reject the option.
    stream_options:
      context.stream && context.deployment.provider === 'openai' ? { include_obfuscation: false } : undefined,
  })
  noteUnknown(request, note)
  return { path: '/responses', body, degraded }
}

/** Converts a canonical request to `POST /responses/input_tokens`, the provider's token counter. */
export function countRequest(request: CanonicalRequest, context: CodecContext): UpstreamRequest {
  const degraded: Degradation[] = []
  const { max_tool_calls: _, ...body } = promptFields(request, context, (path, action) => {
    degraded.push({ path, action })
  })
  return { path: '/responses/input_tokens', body, degraded }
}

/** Returns the fields that count as input tokens. */
function promptFields(request: Json, context: CodecContext, note: Note): Record<string, unknown> {
  const { reasoning } = context
  const traits = traitsOf(context)
  const marked = markedInstructions(request['system'])
  const openReasoning = traits.reasons ? reasoning.stateOf : reasoning.ownStateOf
  const input = inputItems(request['messages'], { note, openReasoning })
  return compact({
    model: context.upstreamModel,
    instructions: marked ? undefined : instructionsOf(request['system']),
    input: marked ? [marked, ...input] : input,
    ...toolFields(request, note),
    reasoning: reasoningField(request, traits, note),
    text: withVerbosity(textField(request, note), extrasOf(request)['verbosity']),
  })
}

/** Joins the system texts, separated by an empty line. */
function instructionsOf(system: unknown): string | undefined {
  if (system === undefined || system === null) return undefined
  const texts = blocksOf(system, 'system').map((block, index) => {
    if (block['type'] === 'text') return textOf(block['text'])
    throw noEquivalent(`system.${index}`, `a system block of type ${textOf(block['type']).slice(0, 100)}`)
  })
  return texts.filter(text => text !== '').join('\n\n') || undefined
}

/**
 * Returns the instructions as an input item if they have cache breakpoints, which the field `instructions` does not
 * support; else undefined. The joined parts equal the text of that field.
 */
function markedInstructions(system: unknown): Json | undefined {
  if (!recordsOf(system).some(hasBreakpoint)) return undefined
  const blocks = blocksOf(system, 'system').filter(block => textOf(block['text']) !== '')
  const content = blocks.flatMap((block, index) => {
    const between = index < blocks.length - 1 ? '\n\n' : ''
    return withBreakpointOf(block, textParts(`${textOf(block['text'])}${between}`))
  })
  return { type: 'message', role: 'system', content }
}

/** Minimum of `max_output_tokens` in the API. */
const minOutputTokens = 16

function outputLimit(maxTokens: unknown, note: Note): unknown {
  if (typeof maxTokens !== 'number' || maxTokens >= minOutputTokens) return maxTokens
  note('max_tokens', 'raised')
  return minOutputTokens
}

function samplingFields(request: Json, traits: ModelTraits, note: Note): Json {
  const settings = { temperature: request['temperature'] ?? undefined, top_p: request['top_p'] ?? undefined }
  if (!traits.reasons) return settings
  for (const [name, value] of Object.entries(settings)) if (value !== undefined) note(name, 'dropped')
  return {}
}

function serviceTier(tier: unknown, note: Note): string | undefined {
  if (tier === undefined || tier === null || tier === 'auto') return undefined
  if (tier === 'standard_only') return 'default'
  note('service_tier', 'dropped')
  return undefined
}

/** Returns the two fields that replaced the API's `user`. Ids longer than 64 characters are hashed. */
function userFields(metadata: unknown, note: Note): Json {
  if (!isRecord(metadata)) return {}
  const { user_id: userId, ...rest } = metadata
  for (const name of Object.keys(rest)) note(`metadata.${name}`, 'dropped')
  if (typeof userId !== 'string' || userId === '') return {}
  const id = userId.length <= 64 ? userId : createHash('sha256').update(userId).digest('hex')
  return { safety_identifier: id, prompt_cache_key: id }
}

const withVerbosity = (text: Json | undefined, verbosity: unknown): Json | undefined =>
  verbosity === undefined ? text : { ...text, verbosity }

function textField(request: Json, note: Note): Json | undefined {
  const config = isRecord(request['output_config']) ? request['output_config'] : {}
  const path = config['format'] ? 'output_config.format' : 'output_format'
  const format = config['format'] ?? request['output_format']
  if (format === undefined || format === null) return undefined
  if (recordOf(format)['type'] === 'json_object') return { format: { type: 'json_object' } }
  if (!isRecord(format) || format['type'] !== 'json_schema' || !isRecord(format['schema'])) {
    throw invalid(`${path} must have type json_schema and a schema`)
  }
  const { schema } = format
  const wantsStrict = format['strict'] !== false
  const strict = wantsStrict && fitsStrict(schema)
  if (wantsStrict && !strict) note(path, 'not_strict')
  const name = textOf(format['name']) || 'answer'
  const description = textIn(format['description'])
  return { format: compact({ type: 'json_schema', name, description, schema: withItems(schema), strict }) }
}

/** Fields that are converted or recorded above, and `cache_control`: the provider caches implicitly. */
const knownFields: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'max_tokens', 'stream', 'system', 'tools', 'tool_choice', 'temperature', 'top_p'],
  ...['thinking', 'output_config', 'output_format', 'metadata', 'service_tier', 'cache_control'],
])

function noteUnknown(request: Json, note: Note): void {
  const { mcp_servers: servers, output_config: config } = request
  if (Array.isArray(servers) && servers.length > 0) throw noEquivalent('mcp_servers', 'a remote MCP server')
  const isEmpty = (value: unknown): boolean =>
    value === undefined || value === null || (Array.isArray(value) && value.length === 0)
  for (const [name, value] of Object.entries(request))
    if (!knownFields.has(name) && !isEmpty(value)) note(name, 'dropped')
  for (const name of Object.keys(isRecord(config) ? config : {})) {
    if (name !== 'effort' && name !== 'format') note(`output_config.${name}`, 'dropped')
  }
}

/** Converts the tool fields. Throws `invalid_request` for a server tool that the provider does not have. */
function toolFields({ tools, tool_choice: choice }: Json, note: Note): Json {
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
    // The upstream counts only built-in tools, and web search is the only one that is sent.
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
    // The upstream rejects an object schema without `properties`.
    parameters: withItems(isRecord(schema['properties']) ? schema : { ...schema, properties: {} }),
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
