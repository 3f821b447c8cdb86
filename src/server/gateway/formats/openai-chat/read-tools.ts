import { isOpenAiFormat } from '../../../config/protocols.ts'
import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, recordOf, textIn } from '../../../platform/json.ts'
import type { Target } from '../../core/call.ts'
import { cacheMark } from '../shared/content-parts.ts'
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
}

/** Converts the tools of a chat request, in the current or the older form. */
export function chatTools(request: Json, { protocol }: Pick<Target, 'protocol'>, note: Note): ChatTools {
  const takesStrict = isOpenAiFormat(protocol)
  const isLegacy = isAbsent(request['tools']) && !isAbsent(request['functions'])
  const allowed = allowedTools(request['tool_choice'])
  const tools = createToolSet()
  for (const [at, tool] of listOf(request, isLegacy ? 'functions' : 'tools').entries()) {
    if (isLegacy) addFunction(tools, tool, { path: `functions.${at}`, note, takesStrict })
    else addTool(tools, tool, { path: `tools.${at}`, note, takesStrict, allowed: allowed?.names })
  }
  const given = isLegacy ? request['function_call'] : request['tool_choice']
  const named = nameIn(given)
  const choice = toolChoice({
    choice: allowed?.mode ?? given,
    named,
    isParallel: !isLegacy && request['parallel_tool_calls'] !== false,
    hasTools: tools.definitions.length > 0,
  })
  const type = recordOf(choice['tool_choice'])['type']
  return { tools, choice, isForced: type === 'any' || type === 'tool', isLegacy }
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
  if (type === 'custom') {
    const { name, description, format } = recordOf(custom)
    if (typeof name !== 'string') throw invalid(`${path}.custom.name must be a string`)
    if (allowed && !allowed.has(name)) return
    const grammar = recordOf(recordOf(format)['grammar'])
    const fullDescription = customDescription(description, grammar)
    tools.add({ kind: 'custom', name }, { description: fullDescription, schema: textSchema, mark, path })
    return
  }
  if (type !== 'function') throw invalid(`${path}.type ${String(type)} is not supported for this model`)
  addFunction(tools, { ...mark, ...recordOf(called) }, { ...place, path: `${path}.function` })
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
