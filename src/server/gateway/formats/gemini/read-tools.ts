import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, recordOf, textIn } from '../../../platform/json.ts'
import type { Target } from '../../core/call.ts'
import { placed } from '../../core/degradations.ts'
import { isAnthropicApi, webSearchTool } from '../shared/model-traits.ts'
import type { Note } from '../shared/settings.ts'
import { createToolSet, objectSchema, type ToolSet, toolCallId, toolChoice, toolName } from '../shared/tools.ts'
import { camelCase, field, jsonSchemaOf, objectField } from './fields.ts'

interface GeminiTools {
  readonly tools: ToolSet
  /** Object with `tool_choice` in Anthropic's format, or an empty one. */
  readonly choice: Json
  readonly isForced: boolean
}

interface Place {
  readonly path: string
  readonly tools: ToolSet
  readonly target: Target
  readonly note: Note
  /** Names of the allowed functions; undefined for all. */
  readonly allowed: ReadonlySet<unknown> | undefined
}

/** Converts the tools and the tool choice of a request in Google's format. */
export function geminiTools(request: Json, target: Target, note: Note): GeminiTools {
  const config = objectField(objectField(request, 'toolConfig'), 'functionCallingConfig')
  const mode = modeOf(config['mode'], note)
  const names = field(config, 'allowedFunctionNames')
  const isNarrowed = Array.isArray(names) && names.length > 0 && mode !== 'none'
  const allowed = isNarrowed ? new Set<unknown>(names) : undefined
  const tools = createToolSet()
  for (const [at, tool] of listIn(request['tools'], 'tools').entries())
    addTools(tools, tool, { path: `tools.${at}`, tools, target, note, allowed })
  const [only] = allowed?.size === 1 && mode === 'required' ? [...allowed] : []
  const choice = toolChoice({
    choice: mode,
    named: typeof only === 'string' ? toolName(only) : undefined,
    isParallel: true,
    hasTools: tools.definitions.length > 0,
  })
  const type = recordOf(choice['tool_choice'])['type']
  return { tools, choice, isForced: type === 'any' || type === 'tool' }
}

function modeOf(mode: unknown, note: Note): string | undefined {
  if (isAbsent(mode) || mode === 'MODE_UNSPECIFIED') return undefined
  switch (String(mode).toUpperCase()) {
    case 'AUTO':
      return 'auto'
    case 'ANY':
      return 'required'
    case 'NONE':
      return 'none'
    case 'VALIDATED':
      note('toolConfig.functionCallingConfig.mode', 'approximated')
      return 'auto'
    default:
      throw invalid('toolConfig.functionCallingConfig.mode must be AUTO, ANY, NONE or VALIDATED')
  }
}

function listIn(value: unknown, path: string): readonly unknown[] {
  if (isAbsent(value)) return []
  if (isRecord(value)) return [value]
  if (!Array.isArray(value)) throw invalid(`${path} must be an array`)
  return value
}

function addTools(tools: ToolSet, given: unknown, place: Place): void {
  if (!isRecord(given)) throw invalid(`${place.path} must be an object`)
  for (const [spelling, value] of Object.entries(given)) {
    if (isAbsent(value)) continue
    const name = camelCase(spelling)
    const path = `${place.path}.${name}`
    if (name === 'functionDeclarations') {
      for (const [at, declaration] of listIn(value, path).entries())
        addFunction(recordOf(declaration), { ...place, path: `${path}.${at}` })
    } else if ((name === 'googleSearch' || name === 'googleSearchRetrieval') && isAnthropicApi(place.target))
      tools.addHosted(placed({ ...webSearchTool }, path))
    else throw invalid(`${path} is not supported for this model`)
  }
}

function addFunction(declaration: Json, { path, tools, note, allowed }: Place): void {
  const { name, description, parameters } = declaration
  if (typeof name !== 'string' || name === '') throw invalid(`${path}.name must be a string`)
  if (allowed && !allowed.has(name)) return
  for (const other of ['response', 'responseJsonSchema', 'behavior'])
    if (!isAbsent(field(declaration, other))) note(`${path}.${other}`)
  const schema = isAbsent(parameters)
    ? field(declaration, 'parametersJsonSchema')
    : jsonSchemaOf(parameters, `${path}.parameters`)
  tools.add({ kind: 'function', name }, { description: textIn(description), schema: objectSchema(schema), path })
}

interface Call {
  readonly id: string
  readonly name: string
  isAnswered: boolean
}

/** Calls of a conversation, to match results. Clients may omit ids; then results match by name and order. */
export interface Calls {
  /** Adds a call. Returns its id, which is generated from its place if the call has none. */
  add(name: string, given: string | undefined, place: string): string
  /** Returns the id of the call for a result; undefined without a call. */
  answeredBy(name: string | undefined, given: string | undefined): string | undefined
}

export function createCalls(): Calls {
  const calls: Call[] = []
  const firstOpen = (name: string | undefined): Call | undefined =>
    calls.find(call => !call.isAnswered && call.name === name)
  return {
    add(name, given, place) {
      const wanted = toolCallId(given ?? `call_${place}`)
      // With a duplicate id one of the two calls would have no result.
      const id = calls.some(call => call.id === wanted) ? toolCallId(`${wanted}_${place}`) : wanted
      calls.push({ id, name, isAnswered: false })
      return id
    },
    answeredBy(name, given) {
      const named = given === undefined ? undefined : calls.find(({ id }) => id === toolCallId(given))
      const call = named ?? firstOpen(name)
      if (call) call.isAnswered = true
      return call?.id
    },
  }
}
