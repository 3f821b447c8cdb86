import { apiVersion } from '../../contract/api.ts'
import type { McpMessage } from '../../contract/memories.ts'
import { invalid } from '../platform/errors.ts'
import type { ServerContext, Tool } from '../tools/tool.ts'

/** The newest first. Dialects: section 6, rule 4. */
const versions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
type Version = (typeof versions)[number]

const isVersion = (name: unknown): name is Version => versions.some(version => version === name)

/** Refuses a request whose `MCP-Protocol-Version` we do not speak; older clients send none. */
export function checkMcpVersion(header: string | readonly string[] | undefined): void {
  if (header !== undefined && !isVersion(header)) {
    throw invalid(`MCP-Protocol-Version must be one of ${versions.join(', ')}`)
  }
}

/** JSON-RPC's own codes. */
const unknownMethod = -32_601
const invalidParams = -32_602

/** What a client is offered. */
interface Offer {
  readonly tools: readonly Tool<ServerContext>[]
  readonly context: ServerContext
}

/** The answer to one message of a client; undefined when it wants none. Keeps nothing between messages. */
export async function answerMcp(
  { id, method, params = {} }: McpMessage,
  offer: Offer,
): Promise<Record<string, unknown> | undefined> {
  if (id === undefined || method === undefined) return undefined
  return { jsonrpc: '2.0', id, ...(await outcomeOf(method, params, offer)) }
}

type Params = Readonly<Record<string, unknown>>

async function outcomeOf(method: string, params: Params, offer: Offer): Promise<Record<string, unknown>> {
  switch (method) {
    case 'initialize':
      return { result: greeting(params['protocolVersion']) }
    case 'ping':
      return { result: {} }
    case 'tools/list':
      return {
        result: {
          tools: offer.tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
        },
      }
    case 'tools/call':
      return callTool(params, offer)
    default:
      return { error: { code: unknownMethod, message: `there is no method ${method.slice(0, 100)}` } }
  }
}

const greeting = (wanted: unknown) => ({
  protocolVersion: isVersion(wanted) ? wanted : versions[0],
  capabilities: { tools: {} },
  serverInfo: { name: 'switchyard-memories', version: apiVersion },
})

async function callTool(params: Params, { tools, context }: Offer): Promise<Record<string, unknown>> {
  const tool = tools.find(({ name }) => name === params['name'])
  if (!tool) {
    const names = tools.map(({ name }) => name).join(', ')
    return { error: { code: invalidParams, message: `params.name must be one of ${names}` } }
  }
  const { content, is_error } = await tool.run(params['arguments'] ?? {}, context)
  return { result: { content, isError: is_error } }
}
