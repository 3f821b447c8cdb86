import type { McpListedTool, McpServerTest, McpTool, McpToolResult } from '../../../contract/mcp.ts'
import type { McpCallVia } from '../../../contract/mcp-calls.ts'
import type { Caller } from '../../http/caller.ts'
import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import type { Json } from '../../platform/json.ts'
import { type McpCallLog, sizeOf } from '../calls/call-log.ts'
import type { McpClient, ToolCall } from '../client/client.ts'
import { RpcFailure } from '../client/json-rpc.ts'
import { type RegisteredServer, toolRuleOf } from '../registry/server.ts'
import type { McpStateStore } from '../registry/state-store.ts'
import { hashOfTool, hashOfTools } from './tool-hash.ts'

interface Deps {
  readonly client: Pick<McpClient, 'listTools' | 'callTool' | 'detect'>
  readonly states: McpStateStore
  readonly calls: Pick<McpCallLog, 'recorded'>
  readonly nowMs: () => number
}

/** `via` says where the call came from, for the log. */
type LoggedCall = ToolCall & { readonly via?: McpCallVia }

/** Sends a call; it gets the input schema of the tool. */
type Send<Result> = (inputSchema: unknown) => Promise<Result>

interface AskingCall extends Pick<ToolCall, 'name' | 'arguments' | 'signal'> {
  readonly via: McpCallVia
  readonly send: Send<Json>
}

type By = Pick<Caller, 'key' | 'principal'>

const listMs = 30_000
/** How long a list is used for further calls. */
const freshMs = 60_000
const maxCached = 500

/**
 * Tools of the servers, for REST calls, the aggregate server and sessions. A caller sees and calls only tools that its
 * key and the lists of the server allow, and only in the form that was accepted.
 */
export type McpTools = ReturnType<typeof createMcpTools>

export function createMcpTools({ client, states, calls, nowMs }: Deps) {
  const lists = new Map<string, { readonly list: Promise<ToolList>; readonly untilMs: number }>()

  /** Reads the list of the server and stores the result of the check. */
  async function check(server: RegisteredServer, principal: string): Promise<Checked> {
    const signal = AbortSignal.timeout(listMs)
    try {
      const found = await client.detect(server, principal, signal)
      const tools = await client.listTools(server, principal, signal)
      await states.record(server, { status: 'healthy', error: null, found })
      const list = { tools, hash: hashOfTools(tools) }
      await states.offerTools(server, tools, list.hash)
      return { protocolVersion: found.protocolVersion, list }
    } catch (error) {
      const failure = asAppError(error, server, signal)
      await states.record(server, { status: 'unhealthy', error: failure.message })
      throw failure
    }
  }

  /** Returns those of the tools that are in the accepted list without any change. */
  async function acceptedOf(server: RegisteredServer, { tools, hash }: ToolList): Promise<readonly McpTool[]> {
    if ((await states.acceptedHash(server)) === hash) return tools
    const state = await states.find(server)
    const hashes = new Set((state?.tools ?? []).map(hashOfTool))
    return tools.filter(tool => hashes.has(hashOfTool(tool)))
  }

  /** Returns the current list of a server, at most a minute old. */
  async function currentList(server: RegisteredServer, principal: string): Promise<ToolList> {
    const key = JSON.stringify([server.server_id, server.version, server.url, principal])
    const cached = lists.get(key)
    if (cached && cached.untilMs > nowMs()) return cached.list
    const list = check(server, principal).then(checked => checked.list)
    const [oldest] = lists.keys()
    if (oldest !== undefined && lists.size >= maxCached) lists.delete(oldest)
    lists.set(key, { list, untilMs: nowMs() + freshMs })
    list.catch(() => lists.delete(key))
    return list
  }

  async function offered(server: RegisteredServer, { key, principal }: By): Promise<Offered> {
    const rule = toolRuleOf(server, key)
    const list = await currentList(server, principal)
    const accepted = new Set(await acceptedOf(server, list))
    const allowed = rule ? list.tools.filter(({ name }) => rule(name)) : list.tools
    return {
      tools: allowed.filter(tool => accepted.has(tool)),
      held: allowed.filter(tool => !accepted.has(tool)).map(({ name }) => name),
    }
  }

  const listTools = async (server: RegisteredServer, by: By): Promise<readonly McpTool[]> =>
    (await offered(server, by)).tools

  /** Calls a tool that the caller may call; `call` gets its input schema. */
  async function calledNow<Result>(
    server: RegisteredServer,
    by: By,
    { name: wanted, signal, call }: Pick<ToolCall, 'name' | 'signal'> & { readonly call: Send<Result> },
  ): Promise<Result> {
    const tool = (await listTools(server, by)).find(({ name }) => name === wanted)
    if (!tool)
      throw invalid(
        `name ${wanted.slice(0, 200)} is not a tool of MCP server ${server.server_name} that this key may call`,
      )
    try {
      return await call(tool.inputSchema)
    } catch (error) {
      throw asAppError(error, server, signal)
    }
  }

  return {
    /** Returns the tools that a caller may call, and the held ones. Throws like `listTools`. */
    offered,

    /** Returns the accepted tools of a server without asking it; none before its first list. */
    async accepted(server: RegisteredServer): Promise<readonly McpTool[]> {
      return (await states.find(server))?.tools ?? []
    },

    /** Returns the tools that a caller may call. Throws `upstream_unreachable` or `upstream_timeout`. */
    listTools,

    /** Calls a tool. Throws `invalid_request` for a tool that `listTools` does not return. */
    callTool(server: RegisteredServer, by: By, { via = 'session', ...call }: LoggedCall): Promise<McpToolResult> {
      const requestBytes = sizeOf(call.arguments)
      const send: Send<McpToolResult> = inputSchema => client.callTool(server, by.principal, { ...call, inputSchema })
      const work = () => calledNow(server, by, { ...call, call: send })
      return calls.recorded({ server, tool: call.name, by, via, requestBytes }, work)
    },

    /** Like `callTool`, for a client that answers questions: `send` calls the tool, and its result may be `input_required`. */
    callAsking(server: RegisteredServer, by: By, { via, send, ...call }: AskingCall): Promise<Json> {
      const requestBytes = sizeOf(call.arguments)
      const work = async () => ({ content: [], ...(await calledNow(server, by, { ...call, call: send })) })
      return calls.recorded({ server, tool: call.name, by, via, requestBytes }, work)
    },

    /** Tests a server now. */
    async test(server: RegisteredServer, { principal }: By): Promise<McpServerTest> {
      const startMs = nowMs()
      const latency = () => Math.max(0, Math.round(nowMs() - startMs))
      lists.clear()
      try {
        const { protocolVersion, list } = await check(server, principal)
        const { tools } = list
        const accepted = await acceptedOf(server, list)
        const rule = toolRuleOf(server, undefined)
        const offered = rule ? tools.filter(({ name }) => rule(name)) : tools
        const pending = tools.filter(tool => !accepted.includes(tool)).map(({ name }) => name)
        return { ok: true, latency_ms: latency(), protocol_version: protocolVersion, tools: [...offered], pending }
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        const none = { protocol_version: null, tools: [], pending: [] }
        return { ok: false, latency_ms: latency(), ...none, error: error.message }
      }
    },

    /** Returns a tool with the server that it belongs to. */
    listed: ({ server_id, server_name }: RegisteredServer, tool: McpTool): McpListedTool => ({
      ...tool,
      mcp_info: { server_id, server_name },
    }),
  }
}

/** Tools of a server for a caller. */
interface Offered {
  readonly tools: readonly McpTool[]
  /** Names of new and changed tools that wait for acceptance. */
  readonly held: readonly string[]
}

interface ToolList {
  readonly tools: readonly McpTool[]
  /** Of all tools together. */
  readonly hash: string
}

interface Checked {
  readonly protocolVersion: string
  readonly list: ToolList
}

/** Converts errors of a server into errors for the caller; `message` is that of the server. */
function asAppError(error: unknown, { server_name }: RegisteredServer, signal: AbortSignal): AppError | RpcFailure {
  if (error instanceof AppError) return error
  // What the client lacks is in its data.
  if (error instanceof RpcFailure && error.code === rpcCodes.missingCapability) return error
  const name = `MCP server ${server_name}`
  if (error instanceof RpcFailure) {
    const code = error.code === rpcCodes.invalidParams ? 'invalid_request' : 'upstream_unreachable'
    return new AppError(code, `${name} returned error ${error.code}: ${error.message}`, {
      cause: error,
      fields: { rpc: String(error.code) },
    })
  }
  if (signal.aborted && (signal.reason as Error).name !== 'TimeoutError')
    return new AppError('upstream_unreachable', `the call of ${name} was cancelled`, { cause: error })
  if (signal.aborted) return new AppError('upstream_timeout', `${name} did not answer in time`, { cause: error })
  return new AppError('upstream_unreachable', `${name} cannot be used now`, { cause: error })
}
