import type { TSchema } from 'typebox'
import { agentRoutes } from '../../../contract/agents.ts'
import { approvalRoutes } from '../../../contract/approvals.ts'
import { eventRoutes } from '../../../contract/event-routes.ts'
import { modelRoutes } from '../../../contract/models.ts'
import type { Route } from '../../../contract/route.ts'
import { sessionRoutes } from '../../../contract/sessions.ts'
import { usageRoutes } from '../../../contract/usage.ts'
import { invalid } from '../../platform/errors.ts'
import { type Json, jsonOr, recordOf } from '../../platform/json.ts'

/** A tool that reads from the API. */
interface ReadTool {
  readonly name: string
  readonly description: string
  readonly route: Route
  /** Parameters of the route that the tool takes. */
  readonly parameters: readonly string[]
  /** Field for the entries when the route returns an array. */
  readonly field?: string
}

/** Answer of the API. */
export interface ApiAnswer {
  readonly status: number
  readonly text: string
  /** Cursor of the next page, for routes that return an array. */
  readonly nextCursor: string | undefined
}

const page = ['limit', 'cursor']
const tools: readonly ReadTool[] = [
  { name: 'list_agents', description: 'Lists agents, newest first', route: agentRoutes.list, parameters: page },
  { name: 'get_agent', description: 'Returns an agent', route: agentRoutes.get, parameters: ['agent_id'] },
  {
    name: 'list_sessions',
    description: 'Lists sessions, newest first',
    route: sessionRoutes.list,
    parameters: [...page, 'agent_id', 'status', 'q'],
    field: 'sessions',
  },
  { name: 'get_session', description: 'Returns a session', route: sessionRoutes.get, parameters: ['session_id'] },
  {
    name: 'list_prompts',
    description: 'Lists the prompts of a session, with their states',
    route: sessionRoutes.prompts,
    parameters: ['session_id', ...page],
  },
  {
    name: 'list_session_events',
    description: 'Lists events of a session: messages, tool calls and their results, status',
    route: eventRoutes.list,
    parameters: ['session_id', 'after', 'limit', 'order', 'types'],
  },
  {
    name: 'list_approvals',
    description: 'Lists tool calls that wait, or waited, for an approval',
    route: approvalRoutes.list,
    parameters: [...page, 'session_id', 'state'],
  },
  {
    name: 'get_usage',
    description: 'Returns calls, tokens and cost of models in a period',
    route: usageRoutes.report,
    parameters: ['from', 'to', 'agent_id', 'session_id', 'model', 'group_by', 'limit'],
  },
  { name: 'list_models', description: 'Lists the models', route: modelRoutes.list, parameters: ['limit', 'after_id'] },
]
const byName = new Map(tools.map(tool => [tool.name, tool]))

/** Maximum characters of a result. */
const maxResultChars = 1_000_000

const membersOf = (schema: TSchema | undefined): Json => recordOf(recordOf(schema)['properties'])

function inputSchemaOf({ route, parameters }: ReadTool): Json {
  const members = { ...membersOf(route.params), ...membersOf(route.query) }
  const inPath = Object.keys(membersOf(route.params))
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(name => [name, members[name]])),
    ...(inPath.length > 0 && { required: inPath }),
    additionalProperties: false,
  }
}

/** The tools as `tools/list` shows them. */
export const readTools: readonly Json[] = tools.map(tool => ({
  name: tool.name,
  description: tool.description,
  inputSchema: inputSchemaOf(tool),
  annotations: { readOnlyHint: true, openWorldHint: false },
}))

export const isReadTool = (name: string): boolean => byName.has(name)

/** Returns path and query of a call. Throws `invalid_request` for parameters that the tool does not have. */
export function requestOf(name: string, args: Json): string {
  const tool = byName.get(name)
  if (!tool) throw new Error(`there is no read tool ${name} (bug)`)
  const unknown = Object.keys(args).find(each => !tool.parameters.includes(each))
  if (unknown !== undefined)
    throw invalid(`unknown argument ${unknown.slice(0, 200)}; known arguments: ${tool.parameters.join(', ')}`)
  const path = tool.route.path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => inPath(args[parameter], parameter))
  const query = new URLSearchParams()
  for (const parameter of tool.parameters) {
    const value = args[parameter]
    if (value === undefined || value === null || tool.route.path.includes(`{${parameter}}`)) continue
    for (const each of Array.isArray(value) ? value : [value]) query.append(parameter, asText(each, parameter))
  }
  return query.size === 0 ? path : `${path}?${query}`
}

function inPath(value: unknown, name: string): string {
  if (typeof value !== 'string' || !/^[\w-]{1,200}$/.test(value)) throw invalid(`argument ${name} must be an id`)
  return value
}

function asText(value: unknown, name: string): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw invalid(`argument ${name} must be string, number or boolean`)
}

/** Returns the answer of the API as the result of a tool: the same JSON, and a list in an object with its cursor. */
export function resultOfAnswer(name: string, { status, text, nextCursor }: ApiAnswer): Json {
  if (status >= 400) return { content: [{ type: 'text', text: messageIn(text) }], isError: true }
  if (text.length > maxResultChars)
    throw invalid(`the result has more than ${maxResultChars} characters; pass a smaller limit`)
  const body = jsonOr(text, {})
  const field = byName.get(name)?.field
  const shown = Array.isArray(body) && field ? { [field]: body, next_cursor: nextCursor ?? null } : recordOf(body)
  return { content: [{ type: 'text', text: JSON.stringify(shown) }], structuredContent: shown }
}

/** Returns the message of an error body of any shape. */
function messageIn(text: string): string {
  const { error } = recordOf(jsonOr(text, {}))
  const message = typeof error === 'string' ? error : recordOf(error)['message']
  return typeof message === 'string' ? message : text.slice(0, 1_000)
}
