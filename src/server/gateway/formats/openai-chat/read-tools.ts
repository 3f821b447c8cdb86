import { isOpenAiFormat } from '../../../config/protocols.ts'
import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, recordOf, textIn } from '../../../platform/json.ts'
import type { Target } from '../../core/call.ts'
import { placed } from '../../core/degradations.ts'
import { cacheMark } from '../shared/content-parts.ts'
import { isAnthropicApi, webSearchTool } from '../shared/model-traits.ts'
import type { Note } from '../shared/settings.ts'
import {
  createToolSet,
  customDescription,
  objectSchema,
  type ToolSet,
  textSchema,
  toolChoice,
  toolName,
} from '../shared/tools.ts'

interface ChatTools {
  readonly tools: ToolSet
  /** Object with `tool_choice` in Anthropic's format, or an empty one. */
  readonly choice: Json
  readonly isForced: boolean
  /** True for the older form with `functions`, whose answers contain `function_call`. */
  readonly isLegacy: boolean
  /** True if `web_search_options` became a tool. */
  readonly canSearch: boolean
}

/** Converts the tools of a chat request, in the current or the older form. */
export function chatTools(request: Json, target: Target, note: Note): ChatTools {
  const takesStrict = isOpenAiFormat(target.protocol)
  const isLegacy = isAbsent(request['tools']) && !isAbsent(request['functions'])
  const allowed = allowedTools(request['tool_choice'])
  const tools = createToolSet()
  for (const [at, tool] of listOf(request, isLegacy ? 'functions' : 'tools').entries()) {
    if (isLegacy) addFunction(tools, tool, { path: `functions.${at}`, note, takesStrict })
    else addTool(tools, tool, { path: `tools.${at}`, note, takesStrict, allowed: allowed?.names })
  }
  const search = request['web_search_options']
  const canSearch = isRecord(search) && runsSearches(target)
  if (canSearch) tools.addHosted(placed(searchTool(search), 'web_search_options'))
  const given = isLegacy ? request['function_call'] : request['tool_choice']
  const named = nameIn(given)
  const { type: anthropicType, disable_parallel_tool_use: isSerial } = recordOf(given)
  const choice = toolChoice({
    choice: allowed?.mode ?? (isRecord(given) ? anthropicType : given),
    named,
    isParallel: !isLegacy && request['parallel_tool_calls'] !== false && isSerial !== true,
    hasTools: tools.definitions.length > 0,
  })
  const type = recordOf(choice['tool_choice'])['type']
  return { tools, choice, isForced: type === 'any' || type === 'tool', isLegacy, canSearch }
}

/** Returns true for upstreams that search the web for any model. */
const runsSearches = (target: Target): boolean =>
  isAnthropicApi(target) || target.protocol === 'gemini' || target.protocol === 'openai-responses'

function searchTool({ user_location: place }: Json) {
  const { approximate } = recordOf(place)
  return { ...webSearchTool, ...(isRecord(approximate) && { user_location: { ...approximate, type: 'approximate' } }) }
}

function listOf(request: Json, field: string): readonly unknown[] {
  const value = request[field]
  if (isAbsent(value)) return []
  if (!Array.isArray(value)) throw invalid(`${field} must be an array`)
  return value
}

interface Place {
  readonly path: string
  readonly note: Note
  /** True if the upstream's format has `strict` too. */
  readonly takesStrict: boolean
  /** Names of the allowed tools; undefined for all. */
  readonly allowed?: ReadonlySet<string> | undefined
}

function addTool(tools: ToolSet, tool: unknown, place: Place): void {
  const { path, allowed } = place
  const { type, function: called, custom } = recordOf(tool)
  const mark = cacheMark(recordOf(tool))
  if (type === 'custom' && isRecord(custom)) {
    const { name, description, format } = custom
    if (typeof name !== 'string') throw invalid(`${path}.custom.name must be a string`)
    if (allowed && !allowed.has(name)) return
    const grammar = recordOf(recordOf(format)['grammar'])
    const fullDescription = customDescription(description, grammar)
    tools.add({ kind: 'custom', name }, { description: fullDescription, schema: textSchema, mark, path })
    return
  }
  if (isRecord(called)) addFunction(tools, { ...mark, ...called }, { ...place, path: `${path}.function` })
  else addOther(tools, recordOf(tool), place)
}

/** Types of tools that Anthropic defines, such as `web_search_20250305` and `bash_20250124`. */
const anthropicTool = /^[a-z_]+_20\d{6}$/

/** Adds a tool in the form of Responses or of Anthropic, which some clients send in this format. */
function addOther(tools: ToolSet, tool: Json, place: Place): void {
  const { path, allowed } = place
  const { type, name, input_schema: schema } = tool
  if (typeof type === 'string' && typeof name === 'string' && anthropicTool.test(type)) {
    if (!allowed || allowed.has(name)) tools.addHosted(placed({ ...tool, name }, path))
  } else if (type === 'function') addFunction(tools, tool, place)
  else if ((isAbsent(type) || type === 'custom') && isRecord(schema))
    addFunction(tools, { ...tool, parameters: schema }, place)
  else throw invalid(`${path}.type ${String(type)} is not supported for this model`)
}

function addFunction(tools: ToolSet, called: unknown, { path, note, takesStrict, allowed }: Place): void {
  const { name, description, parameters, strict } = recordOf(called)
  if (typeof name !== 'string' || name === '') throw invalid(`${path}.name must be a string`)
  if (allowed && !allowed.has(name)) return
  if (strict === true && !takesStrict) note(`${path}.strict`)
  tools.add(
    { kind: 'function', name },
    {
      description,
      schema: objectSchema(parameters),
      mark: cacheMark(recordOf(called)),
      strict: takesStrict && strict === true ? true : undefined,
      path,
    },
  )
}

/** Returns the name sent to the model for the tool in a choice. */
function nameIn(choice: unknown): string | undefined {
  if (!isRecord(choice)) return undefined
  const name = recordOf(choice['function'])['name'] ?? recordOf(choice['custom'])['name'] ?? choice['name']
  return typeof name === 'string' ? toolName(name) : undefined
}

function allowedTools(choice: unknown): { readonly mode: unknown; readonly names: ReadonlySet<string> } | undefined {
  if (!isRecord(choice) || choice['type'] !== 'allowed_tools') return undefined
  const { mode, tools } = recordOf(choice['allowed_tools'])
  const names = (Array.isArray(tools) ? tools : []).flatMap(tool => {
    const { function: called, custom } = recordOf(tool)
    return textIn(recordOf(called)['name']) ?? textIn(recordOf(custom)['name']) ?? []
  })
  return { mode, names: new Set(names) }
}
