import { apiVersion } from '../../../contract/api.ts'
import type { McpTool } from '../../../contract/mcp.ts'
import type { Caller } from '../../http/caller.ts'
import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { type Json, recordOf, textOf } from '../../platform/json.ts'
import { mcpToolName } from '../../tools/mcp-toolset.ts'
import { foundTools, minToolsForSearch, searchName, searchRequestOf } from '../../tools/tool-search.ts'
import type { RpcMessage } from '../client/json-rpc.ts'
import { agreedVersion } from '../client/legacy.ts'
import { mirroredName, plainValue } from '../client/mirrored-headers.ts'
import { metaKeys, modernVersion } from '../client/modern.ts'
import { isModern } from '../client/modern-request.ts'
import { namesOf, type RegisteredServer } from '../registry/server.ts'
import type { McpServers } from '../registry/servers.ts'
import type { McpTools } from '../tools/tools.ts'
import { callName, searchTools } from './search-tools.ts'
import { mayBeOf } from './tool-names.ts'

interface Deps {
  readonly servers: Pick<McpServers, 'available'>
  readonly tools: Pick<McpTools, 'listTools' | 'callTool'>
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
}

const serverInfo = { name: 'switchyard', version: apiVersion }
const capabilities = { tools: {} }
/** How long clients of the modern era may use a list of tools. */
const listTtlMs = 60_000

/** One MCP server with the tools of all servers that the caller may use, for clients of both eras. */
export type Aggregate = ReturnType<typeof createAggregate>

export function createAggregate({ servers, tools }: Deps) {
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
      const wantsProgress = recordOf(given['_meta'])['progressToken'] !== undefined
      return tools.callTool(server, caller, { ...call, ...(wantsProgress && { onProgress }) })
    }
    throw rpcError(rpcCodes.invalidParams, `params.name ${name.slice(0, 200)} is not a tool that this key may call`)
  }

  return {
    /** Returns the result of a request. Throws an AppError with the code of JSON-RPC in its field `rpc`. */
    async resultOf(request: AggregateRequest): Promise<Json> {
      const { message, header } = request
      const modern = isModern(message)
      if (modern) checkModern(message, header)
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

const rpcError = (rpc: number, message: string): AppError =>
  new AppError('invalid_request', message, { fields: { rpc: String(rpc) } })

/** Throws for a revision that is not served, and for headers that differ from the body. Dialects: section 6.1, rule 2. */
function checkModern(message: RpcMessage, header: AggregateRequest['header']): void {
  const params = recordOf(message['params'])
  const version = recordOf(params['_meta'])[metaKeys.version]
  if (version !== modernVersion)
    throw rpcError(
      rpcCodes.unsupportedVersion,
      `revision ${textOf(version).slice(0, 40)} is not served; use ${modernVersion}`,
    )
  const method = textOf(message['method'])
  const expected = [
    ['mcp-protocol-version', version],
    ['mcp-method', method],
    ['mcp-name', mirroredName(method, params)],
  ] as const
  for (const [name, value] of expected) {
    const given = header(name)
    if ((given === undefined ? undefined : plainValue(given)) !== value)
      throw rpcError(rpcCodes.headerMismatch, `${name} differs from the body`)
  }
  if (method === '') throw invalid('request body must be a JSON-RPC message')
}
