import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'
import type { CanonicalRequest, CodecContext, UpstreamRequest } from '../../core/codec.ts'
import { geminiPath, geminiResource } from '../../upstream/paths.ts'
import { cleanParameters } from './schema.ts'
import { Losses, type ModelTraits, modelTraits } from './traits.ts'
import { contentsOf } from './write-contents.ts'
import { generationConfigOf } from './write-settings.ts'

/** Fields that have a place of their own, or that are said by the path. */
const handled = new Set([
  'cache_control',
  'max_tokens',
  'messages',
  'model',
  'output_config',
  'output_format',
  'stop_sequences',
  'stream',
  'system',
  'temperature',
  'thinking',
  'tool_choice',
  'tools',
  'top_k',
  'top_p',
])

/** What goes to `generateContent` or `streamGenerateContent`. */
export function geminiRequest(request: CanonicalRequest, context: CodecContext): UpstreamRequest {
  const { body, losses } = bodyOf(request, context)
  const method = context.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return { path: geminiPath(context, method), body, degraded: losses.list }
}

/** What goes to `countTokens`: all that the model reads. */
export function countRequest(request: CanonicalRequest, context: CodecContext): UpstreamRequest {
  const { body, losses } = bodyOf(request, context)
  const { contents, systemInstruction, tools } = body
  const read = { contents, ...(systemInstruction ? { systemInstruction } : {}), ...(tools ? { tools } : {}) }
  const whole = { generateContentRequest: { model: geminiResource(context.upstreamModel), ...read } }
  return {
    path: geminiPath(context, 'countTokens'),
    body: context.deployment.google ? read : whole,
    degraded: losses.list,
  }
}

function bodyOf(request: CanonicalRequest, context: CodecContext): { body: Json; losses: Losses } {
  const losses = new Losses()
  const traits = modelTraits(context)
  const options = { context, traits, losses }
  noteOthers(request, losses)
  const tools = toolsOf(request, options)
  const generationConfig = generationConfigOf(request, { ...options, hasTools: tools['tools'] !== undefined })
  const system = systemParts(request['system'], losses)
  const body = {
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    contents: contentsOf(request, options),
    ...tools,
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
  }
  return { body, losses }
}

function noteOthers(request: CanonicalRequest, losses: Losses): void {
  losses.markCache(request)
  for (const [field, value] of Object.entries(request)) {
    if (!handled.has(field) && value !== undefined && value !== null) losses.note(field, 'dropped')
  }
}

function systemParts(system: unknown, losses: Losses): readonly Json[] {
  if (typeof system === 'string') return system === '' ? [] : [{ text: system }]
  const parts: Json[] = []
  for (const [index, block] of (Array.isArray(system) ? system : []).entries()) {
    if (isRecord(block)) losses.markCache(block)
    const text = isRecord(block) ? nonEmptyText(block['text']) : undefined
    if (text !== undefined) parts.push({ text })
    else if (!isRecord(block) || block['type'] !== 'text') losses.note(`system.${index}`, 'dropped')
  }
  return parts
}

interface Options {
  readonly context: Pick<CodecContext, 'deployment'>
  readonly traits: ModelTraits
  readonly losses: Losses
}

interface Tools {
  readonly functions: readonly Json[]
  readonly searchName: string | undefined
}

/** The `tools` and `toolConfig` of a request, each only when there is something to say. */
function toolsOf(request: CanonicalRequest, options: Options): Json {
  const { functions, searchName: offered } = readTools(request['tools'], options)
  const { tool_choice: wish } = request
  // Gemini's mode for no calls is about functions: a search has to go altogether.
  const searchName = isRecord(wish) && wish['type'] === 'none' ? undefined : offered
  const tools = [
    ...(functions.length > 0 ? [{ functionDeclarations: functions }] : []),
    ...(searchName !== undefined ? [{ googleSearch: {} }] : []),
  ]
  const choice = choiceOf(wish, { functions, searchName }, options)
  const isMixed = functions.length > 0 && searchName !== undefined
  const toolConfig = {
    ...callingConfig(choice, isMixed),
    ...(isMixed && options.context.deployment.google === undefined && { includeServerSideToolInvocations: true }),
  }
  return { ...(tools.length > 0 && { tools }), ...(Object.keys(toolConfig).length > 0 && { toolConfig }) }
}

/** The mode `AUTO` is refused where native tools and functions are mixed. */
function callingConfig(choice: Json | undefined, isMixed: boolean): Json {
  const isAuto = choice === undefined || choice['mode'] === 'AUTO'
  if (isMixed && isAuto) return { functionCallingConfig: { mode: 'VALIDATED' } }
  return choice === undefined ? {} : { functionCallingConfig: choice }
}

function readTools(tools: unknown, options: Options): Tools {
  const functions: Json[] = []
  let search: { readonly name: string; readonly path: string } | undefined
  for (const [index, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    const path = `tools.${index}`
    if (!isRecord(tool)) throw invalid(`${path} must be an object`)
    options.losses.markCache(tool)
    const type = nonEmptyText(tool['type']) ?? 'custom'
    if (type === 'custom') functions.push(declarationOf(tool, path, options.losses))
    else if (type.startsWith('web_search_')) search = { name: searchNameOf(tool, path, options.losses), path }
    else throw invalid(`${path}: tools of type ${type.slice(0, 60)} are not available for this model`)
  }
  if (search && functions.length > 0 && !options.traits.combinesTools) {
    throw invalid(`${search.path}: this model cannot search the web beside other tools`)
  }
  return { functions, searchName: search?.name }
}

const functionFields = new Set(['type', 'name', 'description', 'input_schema', 'cache_control'])

function declarationOf(tool: Json, path: string, losses: Losses): Json {
  const name = nonEmptyText(tool['name'])
  if (name === undefined) throw invalid(`${path}.name must be a string`)
  const { schema, isSimplified } = cleanParameters(tool['input_schema'])
  if (isSimplified) losses.note(`${path}.input_schema`, 'simplified')
  noteOtherFields(tool, { path, known: functionFields, losses })
  const description = nonEmptyText(tool['description'])
  return { name, ...(description !== undefined && { description }), ...(schema && { parameters: schema }) }
}

const searchFields = new Set(['type', 'name', 'cache_control'])

function searchNameOf(tool: Json, path: string, losses: Losses): string {
  noteOtherFields(tool, { path, known: searchFields, losses })
  return nonEmptyText(tool['name']) ?? 'web_search'
}

interface Fields {
  readonly path: string
  readonly known: ReadonlySet<string>
  readonly losses: Losses
}

function noteOtherFields(tool: Json, { path, known, losses }: Fields): void {
  for (const [field, value] of Object.entries(tool)) {
    if (!known.has(field) && value !== undefined && value !== null) losses.note(`${path}.${field}`, 'dropped')
  }
}

/** The wish for a call, where there is a function to call. */
function choiceOf(choice: unknown, { functions, searchName }: Tools, { losses }: Options): Json | undefined {
  if (!isRecord(choice)) return undefined
  if (choice['disable_parallel_tool_use'] === true) losses.note('tool_choice.disable_parallel_tool_use', 'dropped')
  const name = nonEmptyText(choice['name'])
  // Nobody can make Gemini search.
  const isForced = choice['type'] === 'any' || choice['type'] === 'tool'
  if (isForced && (functions.length === 0 || (name !== undefined && name === searchName))) {
    losses.note('tool_choice', 'dropped')
    return undefined
  }
  if (functions.length === 0) return undefined
  switch (choice['type']) {
    case 'auto':
      return { mode: 'AUTO' }
    case 'any':
      return { mode: 'ANY' }
    case 'none':
      return { mode: 'NONE' }
    case 'tool':
      if (name === undefined) throw invalid('tool_choice.name must be a string')
      return { mode: 'ANY', allowedFunctionNames: [name] }
    default:
      throw invalid('tool_choice.type must be auto, any, tool or none')
  }
}
