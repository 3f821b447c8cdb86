import { apiVersion } from '../../../contract/api.ts'
import type { McpTool } from '../../../contract/mcp.ts'
import type { Caller } from '../../http/caller.ts'
import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError } from '../../platform/errors.ts'
import { type Json, recordOf, textOf } from '../../platform/json.ts'
import { mcpToolName } from '../../tools/mcp-toolset.ts'
import { foundTools, minToolsForSearch, searchName, searchRequestOf } from '../../tools/tool-search.ts'
import { bridgedCapabilities } from '../bridge/capabilities.ts'
import type { AskingToolCalls } from '../bridge/tool-calls.ts'
import type { RpcMessage } from '../client/json-rpc.ts'
import { agreedVersion } from '../client/legacy.ts'
import { metaKeys, modernVersion } from '../client/modern.ts'
import { checkModernRequest, isModern } from '../client/modern-request.ts'
import { namesOf, type RegisteredServer } from '../registry/server.ts'
import type { McpServers } from '../registry/servers.ts'
import type { McpTools } from '../tools/tools.ts'
import { callName, searchTools } from './search-tools.ts'
import { mayBeOf } from './tool-names.ts'

interface Deps {
  readonly servers: Pick<McpServers, 'available'>
  readonly tools: Pick<McpTools, 'listTools' | 'callTool' | 'callAsking'>
  /** Calls tools for clients that answer questions. */
  readonly callTool: AskingToolCalls
}

/** One request of a client, and where its answer goes. */
export interface AggregateRequest {
  readonly message: RpcMessage
  readonly caller: Caller
  /** Returns a header of the request by its lower-case name. */
  readonly header: (name: string) => string | undefined
  /** Cancels calls at their servers. */
  readonly signal: AbortSignal
  readonly onProgress: (progress: Json) => void
  /** Sends a message before the response. */
  readonly send: (message: Json) => void
}

const serverInfo = { name: 'switchyard', version: apiVersion }
const capabilities = { tools: {} }
/** How long clients of the modern era may use a list of tools. */
const listTtlMs = 60_000

/** One MCP server with the tools of all servers that the caller may use, for clients of both eras. */
export type Aggregate = ReturnType<typeof createAggregate>

export function createAggregate({ servers, tools, callTool }: Deps) {
  /** Returns the servers of the caller; only those that `x-mcp-servers` names, if it is sent. */
  async function serversOf({ caller, header }: AggregateRequest): Promise<readonly RegisteredServer[]> {
    const available = await servers.available(caller)
    const given = header('x-mcp-servers')
    if (given === undefined) return available
    const names = given.split(',').map(name => name.trim())
    const unknown = names.find(name => !available.some(server => namesOf(server).includes(name)))
    if (unknown !== undefined) throw new AppError('not_found', `MCP server ${unknown.slice(0, 200)} not found`)
    return available.filter(server => namesOf(server).some(name => names.includes(name)))
  }

  /** A server that does not answer is left out, so that it fails its own tools only. */
  async function listed(request: AggregateRequest): Promise<McpTool[]> {
    const all = await serversOf(request)
    const lists = await Promise.all(
      all.map(server =>
        tools.listTools(server, request.caller).catch((error: unknown) => {
          if (error instanceof AppError) return []
          throw error
        }),
      ),
    )
    return all.flatMap(({ server_name }, at) =>
      (lists[at] ?? []).map(tool => ({ ...tool, name: mcpToolName(server_name, tool.name) })),
    )
  }

  async function searched(request: AggregateRequest, given: unknown): Promise<Json> {
    const wanted = searchRequestOf(given)
    if (typeof wanted === 'string') return { content: [{ type: 'text', text: wanted }], isError: true }
    const found = await foundTools(await listed(request), wanted, request.signal)
    return { content: [{ type: 'text', text: JSON.stringify(found) }], structuredContent: { tools: found } }
  }

  /** Many tools cost a model more than a search for them. They can be called by their names all the same. */
  async function shown(request: AggregateRequest): Promise<readonly McpTool[]> {
    const all = await listed(request)
    return all.length < minToolsForSearch ? all : searchTools
  }

  async function called(request: AggregateRequest): Promise<Json> {
    const given = recordOf(request.message['params'])
    if (given['name'] === searchName) return searched(request, given['arguments'])
    const params = given['name'] === callName ? { ...given, ...recordOf(given['arguments']) } : given
    const name = textOf(params['name'])
    const { caller, signal, onProgress } = request
    for (const server of (await serversOf(request)).filter(({ server_name }) => mayBeOf(server_name, name))) {
      const found = await tools.listTools(server, caller)
      const tool = found.find(each => mcpToolName(server.server_name, each.name) === name)
      if (!tool) continue
      const call = { name: tool.name, arguments: recordOf(params['arguments']), signal, via: 'aggregate' as const }
      if (answersQuestions(request.message)) {
        const message = { ...request.message, params: { ...given, name: call.name, arguments: call.arguments } }
        const asking = { server, caller, rule: undefined, message, signal }
        const send = (inputSchema: unknown) => callTool(asking, { inputSchema, send: request.send })
        return tools.callAsking(server, caller, { ...call, send })
      }
      const wantsProgress = recordOf(given['_meta'])['progressToken'] !== undefined
      return tools.callTool(server, caller, { ...call, ...(wantsProgress && { onProgress }) })
    }
    throw rpcError(rpcCodes.invalidParams, `params.name ${name.slice(0, 200)} is not a tool that this key may call`)
  }

  return {
    /** Returns the result of a request. Throws RpcFailure, or an AppError with the code of JSON-RPC in its field `rpc`. */
    async resultOf(request: AggregateRequest): Promise<Json> {
      const { message, header } = request
      const modern = isModern(message)
      if (modern) checkModernRequest(message, header)
      const marked = (result: Json): Json =>
        modern ? { resultType: 'complete', ...result, _meta: { [metaKeys.server]: serverInfo } } : result
      const listing = modern ? { ttlMs: listTtlMs, cacheScope: 'private' } : {}
      switch (message['method']) {
        case 'tools/list':
          return marked({ tools: await shown(request), ...listing })
        case 'tools/call':
          return marked(await called(request))
        case 'server/discover':
          return marked({ supportedVersions: [modernVersion], capabilities, ...listing })
        case 'initialize':
          return { protocolVersion: agreedVersion(recordOf(message['params'])), capabilities, serverInfo }
        case 'ping':
          return marked({})
        default:
          throw new AppError('unknown_path', `method ${textOf(message['method']).slice(0, 100)} is not supported`, {
            fields: { rpc: String(rpcCodes.unknownMethod) },
          })
      }
    },
  }
}

/** True for a call of a modern client that can answer questions, or answers one. */
function answersQuestions(message: RpcMessage): boolean {
  if (!isModern(message)) return false
  const { _meta, requestState, inputResponses } = recordOf(message['params'])
  const capabilities = bridgedCapabilities(recordOf(_meta)[metaKeys.capabilities])
  return Object.keys(capabilities).length > 0 || requestState !== undefined || inputResponses !== undefined
}

const rpcError = (rpc: number, message: string): AppError =>
  new AppError('invalid_request', message, { fields: { rpc: String(rpc) } })
