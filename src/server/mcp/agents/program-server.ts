import type { FastifyReply, FastifyRequest } from 'fastify'
import { apiVersion } from '../../../contract/api.ts'
import { maxMcpBytes } from '../../../contract/mcp.ts'
import type { Behalf, Caller, GrantedServer } from '../../http/caller.ts'
import { rejectEncoded } from '../../http/json-body.ts'
import { jsonRpcError, rpcCodes } from '../../http/json-rpc-error.ts'
import { receivedBody } from '../../http/receive-body.ts'
import { AppError, invalid, notFound } from '../../platform/errors.ts'
import { isRecord, type Json, jsonOr, recordOf, textOf } from '../../platform/json.ts'
import { agreedVersion } from '../client/legacy.ts'
import type { McpTools } from '../tools/tools.ts'
import type { AgentMcp } from './agent-mcp.ts'

interface Deps {
  readonly agentMcp: Pick<AgentMcp, 'resolved'>
  readonly tools: Pick<McpTools, 'listTools' | 'callTool'>
}

/**
 * Serves the MCP servers of a run to its program, each as one stateless server with the tools that the agent may use, in
 * the form that was accepted. The program reaches neither the server itself nor its credential.
 */
export type ProgramServer = ReturnType<typeof createProgramServer>

export function createProgramServer({ agentMcp, tools }: Deps) {
  async function called(granted: GrantedServer, behalf: Behalf, { caller, params, signal }: Calling): Promise<Json> {
    const name = textOf(params['name'])
    if (!Object.hasOwn(granted.tools, name))
      throw new AppError('invalid_request', `params.name ${name.slice(0, 200)} is not a tool of this session`, {
        fields: { rpc: String(rpcCodes.invalidParams) },
      })
    if (!behalf.mayCall({ server: granted.name, tool: name }))
      return failed(`${name} requires the approval of a person, which this program did not request`)
    const server = await agentMcp.resolved(granted, caller)
    try {
      return await tools.callTool(server, caller, { name, arguments: recordOf(params['arguments']), signal })
    } catch (error) {
      if (error instanceof AppError && error.code !== 'internal') return failed(error.message)
      throw error
    }
  }

  async function resultOf(message: Json, { caller, granted, behalf, signal }: Serving): Promise<Json> {
    const params = recordOf(message['params'])
    switch (message['method']) {
      case 'initialize': {
        const serverInfo = { name: granted.name, version: apiVersion }
        return { protocolVersion: agreedVersion(params), capabilities: { tools: {} }, serverInfo }
      }
      case 'ping':
        return {}
      case 'tools/list': {
        // Without tools, the server failed at the start of the run: the program must not wait for it.
        if (Object.keys(granted.tools).length === 0) return { tools: [] }
        const listed = await tools.listTools(await agentMcp.resolved(granted, caller), caller)
        return { tools: listed.filter(({ name }) => Object.hasOwn(granted.tools, name)) }
      }
      case 'tools/call':
        return called(granted, behalf, { caller, params, signal })
      default:
        throw new AppError('unknown_path', `method ${textOf(message['method']).slice(0, 100)} is not supported`, {
          fields: { rpc: String(rpcCodes.unknownMethod) },
        })
    }
  }

  /** Returns the response to a request. */
  async function responseTo(message: Json, id: string | number, serving: Serving): Promise<Json> {
    try {
      return { jsonrpc: '2.0', id, result: await resultOf(message, serving) }
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'internal') throw error
      return jsonRpcError(error, id)
    }
  }

  /** Answers a request of a program. `name` is that of the server in its session. */
  return async function answer(request: FastifyRequest, reply: FastifyReply, name: string): Promise<void> {
    const { caller, method } = request
    const { behalf } = caller
    const granted = behalf?.mcpServers.find(server => server.name === name)
    if (!behalf || !granted) throw notFound('MCP server', name)
    if (method !== 'POST') return void (await reply.code(405).header('allow', 'POST').send())
    const message = await messageOf(request)
    const { id } = message
    const isRequest = 'method' in message && (typeof id === 'string' || typeof id === 'number')
    if (!isRequest) return void (await reply.code(202).send())
    const left = new AbortController()
    reply.raw.once('close', () => reply.raw.writableFinished || left.abort())
    const response = await responseTo(message, id, { caller, granted, behalf, signal: left.signal })
    if (!left.signal.aborted) await reply.code(200).send(response)
  }
}

interface Serving {
  readonly caller: Caller
  readonly granted: GrantedServer
  readonly behalf: Behalf
  /** Aborts when the program disconnects. */
  readonly signal: AbortSignal
}

interface Calling extends Pick<Serving, 'caller' | 'signal'> {
  readonly params: Json
}

const failed = (text: string): Json => ({ content: [{ type: 'text', text }], isError: true })

async function messageOf({ raw, headers }: FastifyRequest): Promise<Json> {
  rejectEncoded(headers)
  const body = await receivedBody(raw, maxMcpBytes)
  const message = jsonOr(body.toString(), undefined)
  if (!isRecord(message)) throw invalid('request body must be one JSON-RPC message')
  return message
}
