import { apiVersion } from '../../contract/api.ts'
import type { McpMessage } from '../../contract/memories.ts'
import { rpcCodes } from '../http/json-rpc-error.ts'
import { invalid } from '../platform/errors.ts'
import type { ServerContext, Tool } from '../tools/tool.ts'

/** Newest first. Dialects: section 6, rule 4. */
const versions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
type Version = (typeof versions)[number]

const isVersion = (name: unknown): name is Version => versions.some(version => version === name)

/** Throws `invalid` for an unsupported `MCP-Protocol-Version`; older clients do not send the header. */
export function checkMcpVersion(header: string | readonly string[] | undefined): void {
  if (header !== undefined && !isVersion(header)) {
    throw invalid(`MCP-Protocol-Version must be one of ${versions.join(', ')}`)
  }
}

/** Tools that a client may call. */
interface Toolset {
  readonly tools: readonly Tool<ServerContext>[]
  readonly context: ServerContext
}

/** Returns the response to one message of a client; undefined for a notification. Stateless. */
export async function answerMcp(
  { id, method, params = {} }: McpMessage,
  toolset: Toolset,
): Promise<Record<string, unknown> | undefined> {
  if (id === undefined || method === undefined) return undefined
  return { jsonrpc: '2.0', id, ...(await outcomeOf(method, params, toolset)) }
}

type Params = Readonly<Record<string, unknown>>

async function outcomeOf(method: string, params: Params, toolset: Toolset): Promise<Record<string, unknown>> {
  switch (method) {
    case 'initialize':
      return { result: initializeResult(params['protocolVersion']) }
    case 'ping':
      return { result: {} }
    case 'tools/list':
      return {
        result: {
          tools: toolset.tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
        },
      }
    case 'tools/call':
      return callTool(params, toolset)
    default:
      return { error: { code: rpcCodes.unknownMethod, message: `unknown method ${method.slice(0, 100)}` } }
  }
}

const initializeResult = (requested: unknown) => ({
  protocolVersion: isVersion(requested) ? requested : versions[0],
  capabilities: { tools: {} },
  serverInfo: { name: 'switchyard-memories', version: apiVersion },
})

async function callTool(params: Params, { tools, context }: Toolset): Promise<Record<string, unknown>> {
  const tool = tools.find(({ name }) => name === params['name'])
  if (!tool) {
    const names = tools.map(({ name }) => name).join(', ')
    return { error: { code: rpcCodes.invalidParams, message: `params.name must be one of ${names}` } }
  }
  const { content, is_error } = await tool.run(params['arguments'] ?? {}, context)
  return { result: { content, isError: is_error } }
}
