import { isOpenAiFormat } from '../../../config/protocols.ts'
import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, recordOf } from '../../../platform/json.ts'
import type { Target } from '../../core/call.ts'
import { placed } from '../../core/degradations.ts'
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
import { clientTools } from './client-tools.ts'

interface ResponseTools {
  readonly tools: ToolSet
  /** Object with `tool_choice` in Anthropic's format, or an empty one. */
  readonly choice: Json
  readonly isForced: boolean
}

/** Converts the tools of a Responses request: those in `tools`, and those in input items. */
export function responseTools(request: Json, target: Target, note: Note): ResponseTools {
  const { tools: given, tool_choice: chosen, input, parallel_tool_calls: isParallel } = request
  const tools = createToolSet()
  const allowed = allowedNames(chosen)
  const place = { target, note, allowed }
  if (!isAbsent(given) && !Array.isArray(given)) throw invalid('tools must be an array')
  addTools(tools, given, { ...place, path: 'tools' })
  for (const [at, item] of (Array.isArray(input) ? input : []).entries()) {
    const { type, tools: found } = recordOf(item)
    if (type === 'additional_tools' || type === 'tool_search_output')
      addTools(tools, found, { ...place, path: `input.${at}.tools` })
  }
  const choice = toolChoice({
    choice: allowed ? recordOf(chosen)['mode'] : chosen,
    named: allowed ? undefined : nameIn(chosen),
    isParallel: isParallel !== false,
    hasTools: tools.definitions.length > 0,
  })
  const type = recordOf(choice['tool_choice'])['type']
  return { tools, choice, isForced: type === 'any' || type === 'tool' }
}

interface Place {
  readonly path: string
  readonly target: Target
  readonly note: Note
  /** Names of the allowed tools; undefined for all. */
  readonly allowed: ReadonlySet<string> | undefined
  readonly namespace?: string
}

function addTools(tools: ToolSet, list: unknown, place: Place): void {
  if (!Array.isArray(list)) return
  for (const [at, tool] of list.entries()) addTool(tools, recordOf(tool), { ...place, path: `${place.path}.${at}` })
}

function addTool(tools: ToolSet, tool: Json, place: Place): void {
  const { path, note, allowed, namespace, target } = place
  const type = String(tool['type'])
  if (type === 'namespace') {
    addTools(tools, tool['tools'], { ...place, path: `${path}.tools`, namespace: nameOf(tool, path) })
    return
  }
  if (type !== 'function' && type !== 'custom') {
    addBuiltIn(tools, tool, place)
    return
  }
  const name = nameOf(tool, path)
  if (allowed && !allowed.has(toolName(name, namespace))) return
  const origin = { kind: type, name, ...(namespace !== undefined && { namespace }) }
  const { description, parameters, format, strict } = tool
  const isCarried = type === 'function' && isOpenAiFormat(target.protocol)
  if (strict === true && !isCarried) note(`${path}.strict`)
  const strictFlag = isCarried && strict === true ? true : undefined
  if (type === 'function')
    tools.add(origin, { description, schema: objectSchema(parameters), strict: strictFlag, path })
  else tools.add(origin, { description: customDescription(description, recordOf(format)), schema: textSchema, path })
}

function nameOf(tool: Json, path: string): string {
  const { name } = tool
  if (typeof name !== 'string' || name === '') throw invalid(`${path}.name must be a string`)
  return name
}

/** Adds a built-in tool. The client runs some of them; OpenAI would run the others. */
function addBuiltIn(tools: ToolSet, tool: Json, { path, note, allowed, target }: Place): void {
  const type = String(tool['type'])
  const own = clientTools.get(type)
  if (own && !(type === 'tool_search' && tool['execution'] !== 'client')) {
    if (allowed && !allowed.has(type)) return
    const { description = own.description, parameters } = tool
    tools.add({ kind: type, name: type }, { description, schema: isRecord(parameters) ? parameters : own.schema, path })
  } else if (type.startsWith('web_search') && canSearch(tool, target)) {
    tools.addHosted(placed(webSearch(tool), path))
  } else if (type.startsWith('web_search') || type === 'image_generation' || type === 'tool_search') {
    // Not rejected, because coding agents send these with every request.
    note(path)
  } else throw invalid(`${path}.type ${type} is not supported for this model`)
}

const canSearch = ({ external_web_access: isLive }: Json, target: Target): boolean =>
  isLive !== false && isAnthropicApi(target)

function webSearch({ filters, user_location: place }: Json) {
  const { allowed_domains: domains } = recordOf(filters)
  return {
    ...webSearchTool,
    ...(Array.isArray(domains) && domains.length > 0 && { allowed_domains: domains }),
    ...(isRecord(place) && { user_location: { ...place, type: 'approximate' } }),
  }
}

/** Returns the name sent to the model for the tool in a choice. */
function nameIn(choice: unknown): string | undefined {
  if (!isRecord(choice)) return undefined
  const { type, name, namespace } = choice
  if (typeof name === 'string') return toolName(name, typeof namespace === 'string' ? namespace : undefined)
  const builtIn = String(type).startsWith('web_search') ? 'web_search' : String(type)
  if (builtIn === 'web_search' || clientTools.has(builtIn)) return builtIn
  throw invalid(`tool_choice.type ${String(type)} is not supported for this model`)
}

function allowedNames(choice: unknown): ReadonlySet<string> | undefined {
  if (!isRecord(choice) || choice['type'] !== 'allowed_tools') return undefined
  const list: readonly unknown[] = Array.isArray(choice['tools']) ? choice['tools'] : []
  return new Set(list.flatMap(tool => nameIn(tool) ?? []))
}
