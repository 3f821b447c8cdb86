import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { A2aRpcRequest, a2aRoutes } from '../../contract/a2a.ts'
import { a2aRpcError } from '../../contract/a2a-errors.ts'
import {
  A2aListParams,
  type A2aListQuery,
  A2aSendRequest,
  type A2aStreamResponse,
  A2aTaskParams,
} from '../../contract/a2a-objects.ts'
import { A2aPushConfig, A2aPushListParams, A2aPushParams } from '../../contract/a2a-push.ts'
import { parseJsonBody } from '../http/json-body.ts'
import { fastifyPath } from '../http/paths.ts'
import { createValidatorCompiler, validationMessage } from '../http/validation.ts'
import type { WriteTurns } from '../http/write-turns.ts'
import { AppError, invalid } from '../platform/errors.ts'
import { callOf } from './call.ts'
import { a2aFailure } from './errors.ts'
import { type A2aCall, noExtendedCard, type Operations, type TaskStream } from './operations.ts'
import { writeTaskStream } from './stream.ts'

interface Deps {
  readonly operations: Operations
  readonly turns: WriteTurns
}

type RpcId = string | number | null
type Method = (params: unknown, call: A2aCall) => Promise<object>
type StreamMethod = (params: unknown, call: A2aCall) => Promise<TaskStream>

/** Serves the JSON-RPC binding. The handler parses the body, so that its errors have the format of JSON-RPC. */
export function serveRpc(app: FastifyInstance, { operations, turns }: Deps): void {
  const route = a2aRoutes.rpc
  const checked = createChecked()
  const wellFormed = checked<RpcRequest>(A2aRpcRequest, 'request')
  const { methods, streams } = methodsOf(operations, checked)
  void app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'string' },
      async (_: FastifyRequest, text: string) => text,
    )
    scope.route({
      method: route.method,
      url: fastifyPath(route),
      config: { route },
      bodyLimit: route.bodyLimit,
      async handler(request, reply) {
        let id: RpcId = null
        try {
          const call = callOf(request, reply)
          const { method, params = {}, id: given = null } = requestIn(request.body, wellFormed)
          id = given
          const stream = streams.get(method)
          if (stream) return await answerStream(request, reply, { stream: await stream(params, call), id, turns, call })
          const result = await (methods.get(method) ?? unknownMethod(method))(params, call)
          return await reply.send({ jsonrpc: '2.0', id, result })
        } catch (error) {
          if (!(error instanceof AppError) || !isAnswer(error)) throw error
          return await reply.headers(error.headers).send(a2aRpcError(error, id))
        }
      },
    })
  })
}

/** False for errors with a meaning in HTTP: failures of the server, and an agent that does not exist. */
const isAnswer = ({ code, fields }: AppError): boolean =>
  code !== 'internal' && code !== 'unavailable' && (code !== 'not_found' || fields['reason'] !== undefined)

async function answerStream(
  request: FastifyRequest,
  reply: FastifyReply,
  { stream, id, turns, call }: { stream: TaskStream; id: RpcId; turns: WriteTurns; call: A2aCall },
): Promise<void> {
  reply.hijack()
  const wrap = (result: A2aStreamResponse) => ({ jsonrpc: '2.0', id, result })
  await writeTaskStream(reply.raw, stream, { requestId: request.id, signal: call.signal, turns, wrap })
}

function methodsOf(operations: Operations, checked: Checked) {
  const sendOf = checked<A2aSendRequest>(A2aSendRequest)
  const taskOf = checked<{ id: string; historyLength?: number }>(A2aTaskParams)
  const listOf = checked<A2aListQuery>(A2aListParams)
  const pushOf = checked<A2aPushConfig & { taskId: string }>(
    Type.Intersect([A2aPushConfig, Type.Object({ taskId: Type.String({ minLength: 1 }) })]),
  )
  const pushIdOf = checked<{ taskId: string; id: string }>(A2aPushParams)
  const pushListOf = checked<{ taskId: string }>(A2aPushListParams)
  const methods: Readonly<Record<string, Method>> = {
    SendMessage: async (params, call) => operations.send(sendOf(params), call),
    GetTask: async (params, call) => {
      const { id, historyLength } = taskOf(params)
      return operations.get(id, historyLength, call)
    },
    ListTasks: async (params, call) => operations.list(listOf(params), call),
    CancelTask: async (params, call) => operations.cancel(taskOf(params).id, call),
    CreateTaskPushNotificationConfig: async (params, call) => {
      const config = pushOf(params)
      return operations.createPush(config.taskId, config, call)
    },
    GetTaskPushNotificationConfig: async (params, call) => {
      const { taskId, id } = pushIdOf(params)
      return operations.getPush(taskId, id, call)
    },
    ListTaskPushNotificationConfigs: async (params, call) => operations.listPush(pushListOf(params).taskId, call),
    DeleteTaskPushNotificationConfig: async (params, call) => {
      const { taskId, id } = pushIdOf(params)
      await operations.removePush(taskId, id, call)
      return {}
    },
    GetExtendedAgentCard: (_, call) => operations.reject(noExtendedCard(), call),
  }
  const streams: Readonly<Record<string, StreamMethod>> = {
    SendStreamingMessage: async (params, call) => operations.stream(sendOf(params), call),
    SubscribeToTask: async (params, call) => operations.subscribe(taskOf(params).id, call),
  }
  // Maps, because a method may be the name of a property of every object.
  return { methods: new Map(Object.entries(methods)), streams: new Map(Object.entries(streams)) }
}

const unknownMethod =
  (method: string): Method =>
  async () => {
    throw a2aFailure(
      'METHOD_NOT_FOUND',
      `method ${method.slice(0, 100)} is unknown; use one of A2A 1.0, such as SendMessage`,
    )
  }

/** Returns a check that throws `invalid_request` with the field. */
type Checked = <T>(schema: TSchema, what?: string) => (value: unknown) => T

function createChecked(): Checked {
  const compile = createValidatorCompiler()
  return <T>(schema: TSchema, what = 'params') => {
    const validate = compile({ schema, method: 'POST', url: '', httpPart: 'body' })
    return (value: unknown): T => {
      const { error } = validate(value) as { readonly error?: Parameters<typeof validationMessage>[0] }
      if (error) throw invalid(validationMessage(error, what))
      return value as T
    }
  }
}

interface RpcRequest {
  readonly id?: RpcId
  readonly method: string
  readonly params?: unknown
}

/** Returns a JSON-RPC request. Throws an error of JSON-RPC. */
function requestIn(body: unknown, wellFormed: (value: unknown) => RpcRequest): RpcRequest {
  const value = rethrown('PARSE_ERROR', () => parseJsonBody(typeof body === 'string' ? body : ''))
  return rethrown('INVALID_REQUEST', () => wellFormed(value))
}

function rethrown<T>(reason: 'PARSE_ERROR' | 'INVALID_REQUEST', work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof AppError ? a2aFailure(reason, error.message) : error
  }
}
