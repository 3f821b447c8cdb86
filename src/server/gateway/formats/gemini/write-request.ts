import { invalid } from '../../../platform/errors.ts'
import { isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'
import type { CanonicalRequest, CodecContext, UpstreamRequest } from '../../core/codec.ts'
import { geminiPath, geminiResource } from '../../upstream/paths.ts'
import { type CleanParameters, cleanParameters, newAllowance } from './schema.ts'
import { Degradations, type ModelTraits, modelTraits } from './traits.ts'
import { contentsOf } from './write-contents.ts'
import { generationConfigOf } from './write-settings.ts'

/** Fields that are converted, or are part of the path. */
const handled: ReadonlySet<string> = new Set([
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

/** Returns the request to `generateContent` or `streamGenerateContent`. */
export function geminiRequest(request: CanonicalRequest, context: CodecContext): UpstreamRequest {
  const { body, degradations } = bodyOf(request, context)
  const method = context.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return { path: geminiPath(context, method), body, degraded: degradations.list }
}

/** Returns the request to `countTokens`, with all input of the model. */
export function countRequest(request: CanonicalRequest, context: CodecContext): UpstreamRequest {
  const { body, degradations } = bodyOf(request, context)
  const { contents, systemInstruction, tools } = body
  const read = { contents, ...(systemInstruction ? { systemInstruction } : {}), ...(tools ? { tools } : {}) }
  const whole = { generateContentRequest: { model: geminiResource(context.upstreamModel), ...read } }
  return {
    path: geminiPath(context, 'countTokens'),
    body: context.deployment.google ? read : whole,
    degraded: degradations.list,
  }
}

function bodyOf(request: CanonicalRequest, context: CodecContext): { body: Json; degradations: Degradations } {
  const degradations = new Degradations()
  const traits = modelTraits(context)
  const options = { context, traits, degradations }
  noteOthers(request, degradations)
  const tools = toolsOf(request, options)
  const generationConfig = generationConfigOf(request, { ...options, hasTools: tools['tools'] !== undefined })
  const system = systemParts(request['system'], degradations)
  const body = {
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    contents: contentsOf(request, options),
    ...tools,
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
  }
  return { body, degradations }
}

function noteOthers(request: CanonicalRequest, degradations: Degradations): void {
  degradations.noteCacheMark(request)
  for (const [field, value] of Object.entries(request)) {
    if (!handled.has(field) && value !== undefined && value !== null) degradations.note(field, 'dropped')
  }
}

function systemParts(system: unknown, degradations: Degradations): readonly Json[] {
  if (typeof system === 'string') return system === '' ? [] : [{ text: system }]
  const parts: Json[] = []
  for (const [index, block] of (Array.isArray(system) ? system : []).entries()) {
    if (isRecord(block)) degradations.noteCacheMark(block)
    const text = isRecord(block) ? nonEmptyText(block['text']) : undefined
    if (text !== undefined) parts.push({ text })
    else if (!isRecord(block) || block['type'] !== 'text') degradations.note(`system.${index}`, 'dropped')
  }
  return parts
}

interface Options {
  readonly context: Pick<CodecContext, 'deployment'>
  readonly traits: ModelTraits
  readonly degradations: Degradations
}

interface Tools {
  readonly functions: readonly Json[]
  readonly searchName: string | undefined
}

/** Returns `tools` and `toolConfig`, each only if not empty. */
function toolsOf(request: CanonicalRequest, options: Options): Json {
  const { functions, searchName: offered } = readTools(request['tools'], options)
  const { tool_choice: toolChoice } = request
  // Gemini's mode NONE applies only to functions, so web search is removed.
  const searchName = isRecord(toolChoice) && toolChoice['type'] === 'none' ? undefined : offered
  const tools = [
    ...(functions.length > 0 ? [{ functionDeclarations: functions }] : []),
    ...(searchName !== undefined ? [{ googleSearch: {} }] : []),
  ]
  const choice = choiceOf(toolChoice, { functions, searchName }, options)
  const isMixed = functions.length > 0 && searchName !== undefined
  const toolConfig = {
    ...callingConfig(choice, isMixed),
    ...(isMixed && options.context.deployment.google === undefined && { includeServerSideToolInvocations: true }),
  }
  return { ...(tools.length > 0 && { tools }), ...(Object.keys(toolConfig).length > 0 && { toolConfig }) }
}

/** Replaces the mode `AUTO`, which Gemini rejects for native tools combined with functions. */
function callingConfig(choice: Json | undefined, isMixed: boolean): Json {
  const isAuto = choice === undefined || choice['mode'] === 'AUTO'
  if (isMixed && isAuto) return { functionCallingConfig: { mode: 'VALIDATED' } }
  return choice === undefined ? {} : { functionCallingConfig: choice }
}

function readTools(tools: unknown, options: Options): Tools {
  const functions: Json[] = []
  const allowance = newAllowance()
  let search: { readonly name: string; readonly path: string } | undefined
  for (const [index, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    const path = `tools.${index}`
    if (!isRecord(tool)) throw invalid(`${path} must be an object`)
    options.degradations.noteCacheMark(tool)
    const type = nonEmptyText(tool['type']) ?? 'custom'
    if (type === 'custom')
      functions.push(declarationOf(tool, cleanParameters(tool['input_schema'], allowance), { ...options, path }))
    else if (type.startsWith('web_search_')) search = { name: searchNameOf(tool, path, options.degradations), path }
    else throw invalid(`${path}: tools of type ${type.slice(0, 60)} are not supported for this model`)
  }
  if (search && functions.length > 0 && !options.traits.combinesTools) {
    throw invalid(`${search.path}: this model cannot combine web search with other tools`)
  }
  return { functions, searchName: search?.name }
}

const functionFields: ReadonlySet<string> = new Set(['type', 'name', 'description', 'input_schema', 'cache_control'])

function declarationOf(
  tool: Json,
  { schema, isSimplified }: CleanParameters,
  { path, degradations }: Pick<Options, 'degradations'> & { readonly path: string },
): Json {
  const name = nonEmptyText(tool['name'])
  if (name === undefined) throw invalid(`${path}.name must be a string`)
  if (isSimplified) degradations.note(`${path}.input_schema`, 'simplified')
  noteOtherFields(tool, { path, handledFields: functionFields, degradations })
  const description = nonEmptyText(tool['description'])
  return { name, ...(description !== undefined && { description }), ...(schema && { parameters: schema }) }
}

const searchFields: ReadonlySet<string> = new Set(['type', 'name', 'cache_control'])

function searchNameOf(tool: Json, path: string, degradations: Degradations): string {
  noteOtherFields(tool, { path, handledFields: searchFields, degradations })
  return nonEmptyText(tool['name']) ?? 'web_search'
}

interface Fields {
  readonly path: string
  readonly handledFields: ReadonlySet<string>
  readonly degradations: Degradations
}

function noteOtherFields(tool: Json, { path, handledFields, degradations }: Fields): void {
  for (const [field, value] of Object.entries(tool)) {
    if (!handledFields.has(field) && value !== undefined && value !== null)
      degradations.note(`${path}.${field}`, 'dropped')
  }
}

/** Returns the function calling config for `tool_choice`; undefined without functions. */
function choiceOf(choice: unknown, { functions, searchName }: Tools, { degradations }: Options): Json | undefined {
  if (!isRecord(choice)) return undefined
  if (choice['disable_parallel_tool_use'] === true)
    degradations.note('tool_choice.disable_parallel_tool_use', 'dropped')
  const name = nonEmptyText(choice['name'])
  // Gemini has no setting that forces a search.
  const isForced = choice['type'] === 'any' || choice['type'] === 'tool'
  if (isForced && (functions.length === 0 || (name !== undefined && name === searchName))) {
    degradations.note('tool_choice', 'dropped')
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
