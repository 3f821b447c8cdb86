import { apiVersion } from '../../../contract/api.ts'
import { ownServerName } from '../../../contract/mcp.ts'
import type { OpenTask, TaskLog } from '../../a2a/task-log.ts'
import type { Agents } from '../../agents/agents.ts'
import { type Caller, tracedCaller } from '../../http/caller.ts'
import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError, invalid, notFound } from '../../platform/errors.ts'
import { isRecord, type Json, recordOf, textOf } from '../../platform/json.ts'
import { RpcFailure, type RpcMessage } from '../client/json-rpc.ts'
import { agreedVersion } from '../client/legacy.ts'
import { metaKeys } from '../client/modern.ts'
import { isModern } from '../client/modern-request.ts'
import { mayUseServer, type ToolRule, toolRuleOf } from '../registry/server.ts'
import type { AgentCalls } from './agent-calls.ts'
import { agentIdOf } from './agent-tools.ts'
import { cacheHint, discovered, requireTasks, supportsTasks } from './capabilities.ts'
import { isListed, listedTools, resultTool } from './catalog.ts'
import { checkModern } from './modern-request.ts'
import { type ApiAnswer, isReadTool, requestOf, resultOfAnswer } from './read-tools.ts'
import { createdTask, detailedTask, failed, toolResultOf } from './task-object.ts'
import { questionIn, type Wait, waitedFor } from './waiting.ts'

interface Deps {
  readonly agents: Pick<Agents, 'get' | 'list'>
  readonly calls: AgentCalls
  readonly log: Pick<TaskLog, 'untilOver'>
}

/** One request of a client. */
export interface OwnRequest extends Wait {
  readonly caller: Caller
  /** Returns a header of the request by its lower-case name. */
  readonly header: (name: string) => string | undefined
  /** Sends a GET request to the API with the credentials of the caller. */
  readonly read: (path: string) => Promise<ApiAnswer>
  /** Key of a call that must be executed once. */
  readonly key: string | undefined
  /** Aborts when the client closes the connection. */
  readonly disconnected: AbortSignal
}

/** This server in the lists of keys. */
const self = { server_id: ownServerName, server_name: ownServerName, alias: null }
const ruleFor = (caller: Caller): ToolRule =>
  toolRuleOf({ ...self, allowed_tools: null, disallowed_tools: null }, caller.key)
const serverInfo = { name: ownServerName, version: apiVersion }

/** This service as an MCP server for clients of both eras: agents and the reads of the API as tools. */
export type OwnServer = ReturnType<typeof createOwnServer>

export function createOwnServer({ agents, calls, log }: Deps) {
  async function called(request: OwnRequest): Promise<Json> {
    const params = recordOf(request.message['params'])
    const name = textOf(params['name'])
    const args = recordOf(params['arguments'])
    const agentId = agentIdOf(name)
    const rule = ruleFor(request.caller)
    if (!isListed(rule, name, agentId)) throw unknownTool(name)
    if (isReadTool(name)) return resultOfAnswer(name, await request.read(requestOf(name, args)))
    if (name === resultTool.name) return resultNow(textOf(args['session_id']), request.caller)
    if (agentId === undefined) throw unknownTool(name)
    return calledAgent(agentId, args, request)
  }

  async function resultNow(sessionId: string, caller: Caller): Promise<Json> {
    const task = await calls.newest(sessionId, caller)
    if (task.reading.isOver) return toolResultOf(task)
    const { status, statusMessage } = createdTask(task)
    const state = `the prompt has not ended: ${statusMessage ?? status}`
    return failed(state, { session_id: task.row.session_id, prompt_id: task.row.id })
  }

  async function calledAgent(id: string, args: Json, request: OwnRequest): Promise<Json> {
    const { message, caller, key, disconnected } = request
    const { requestState, inputResponses, _meta } = recordOf(message['params'])
    const agent = await agents.get(id, caller).catch((error: unknown) => {
      throw error instanceof AppError && error.code === 'not_found' ? unknownTool(id) : error
    })
    const task =
      requestState === undefined
        ? // Clients of MCP may send the trace context in `_meta` instead of headers.
          await calls.start({ agent, args, caller: tracedCaller(caller, recordOf(_meta)), key })
        : await answered(requestState, inputResponses, { agentId: agent.id, caller })
    if (isModern(message) && supportsTasks(message)) return { ...createdTask(task) }
    try {
      return await waitedFor(task, request, { log, agentName: agent.name })
    } finally {
      // In the modern era closing the response stream cancels the request; an older client sends a notification.
      if (isModern(message) && disconnected.aborted && !task.reading.isOver) await calls.cancel(task, caller)
    }
  }

  /** Returns the task of a repeated request after its answers. */
  async function answered(
    state: unknown,
    responses: unknown,
    { agentId, caller }: { readonly agentId: string; readonly caller: Caller },
  ): Promise<OpenTask> {
    const task = await calls.open(textOf(state), caller)
    if (task?.row.agent_id !== agentId)
      throw new RpcFailure(rpcCodes.invalidParams, 'params.requestState is not that of a call of this tool')
    await calls.answer(task, recordOf(responses), caller)
    return (await calls.open(task.row.id, caller)) ?? task
  }

  async function taskOf({ message, caller }: OwnRequest): Promise<OpenTask> {
    requireTasks(message)
    const id = textOf(recordOf(message['params'])['taskId'])
    const task = await calls.open(id, caller)
    if (!task) throw new RpcFailure(rpcCodes.invalidParams, `task ${id.slice(0, 200)} not found`)
    return task
  }

  async function modernOnly(request: OwnRequest): Promise<Json> {
    const { message, caller } = request
    switch (message['method']) {
      case 'server/discover':
        return discovered
      case 'tasks/get': {
        const task = await taskOf(request)
        return detailedTask(task, await calls.agentName(task, caller))
      }
      case 'tasks/update': {
        const { inputResponses } = recordOf(message['params'])
        if (!isRecord(inputResponses))
          throw new RpcFailure(rpcCodes.invalidParams, 'params.inputResponses must be object')
        await calls.answer(await taskOf(request), inputResponses, caller)
        return {}
      }
      case 'tasks/cancel':
        await calls.cancel(await taskOf(request), caller)
        return {}
      default:
        throw unknownMethod(message)
    }
  }

  function legacyOnly(message: RpcMessage): Json {
    switch (message['method']) {
      case 'initialize':
        return {
          protocolVersion: agreedVersion(recordOf(message['params'])),
          capabilities: { tools: {} },
          serverInfo,
        }
      case 'ping':
        return {}
      default:
        throw unknownMethod(message)
    }
  }

  async function resultFor(request: OwnRequest): Promise<Json> {
    const { message, caller } = request
    const { method, params } = message
    if (method === 'tools/call') return asToolResult(() => called(request))
    if (method !== 'tools/list') return isModern(message) ? modernOnly(request) : legacyOnly(message)
    const list = await listedTools(agents, { cursor: recordOf(params)['cursor'], caller, rule: ruleFor(caller) })
    return { ...list, ...(isModern(message) && cacheHint) }
  }

  return {
    /** Returns the result of a request. Throws RpcFailure, or an AppError. */
    async resultOf(request: OwnRequest): Promise<Json> {
      const { message, caller, header } = request
      if (!mayUseServer(self, caller.key)) throw notFound('MCP server', self.server_name)
      if (!isModern(message)) return resultFor(request)
      checkModern(message, header)
      return { resultType: 'complete', ...(await resultFor(request)), _meta: { [metaKeys.server]: serverInfo } }
    },

    /**
     * Takes the response of a client of an older revision to a question. Throws `invalid_request` for one that does not fit. After an
     * error response the question stays open for others.
     */
    async takeResponse({ id, result }: RpcMessage, caller: Caller): Promise<void> {
      const asked = questionIn(id)
      const task = asked && isRecord(result) ? await calls.open(asked.taskId, caller) : undefined
      if (!asked || !task) return
      try {
        await calls.answer(task, { [asked.question]: result }, caller)
      } catch (error) {
        throw error instanceof RpcFailure ? invalid(error.message) : error
      }
    },
  }
}

const unknownTool = (name: string): RpcFailure =>
  new RpcFailure(rpcCodes.invalidParams, `params.name ${name.slice(0, 200)} is not a tool that this key may call`)
const unknownMethod = ({ method }: RpcMessage): RpcFailure =>
  new RpcFailure(rpcCodes.unknownMethod, `method ${textOf(method).slice(0, 100)} is not supported`)

/** Returns what the model can correct, or has to know, as a result; other errors concern the client. */
async function asToolResult(work: () => Promise<Json>): Promise<Json> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'internal' || error.code === 'unavailable') throw error
    return failed(error.message)
  }
}
