import { randomUUID } from 'node:crypto'
import { isRecord, type Json, jsonOr, nonEmptyText, recordOf, recordsOf } from '../../platform/json.ts'
import { withoutTrailing } from '../../platform/trailing.ts'
import { type Connection, cleanText } from '../remote/connection.ts'
import { isFailureWithStatus, type RuntimeEndpoint } from '../runtime.ts'
import type { AgentAddress } from './card.ts'
import { type AgentTask, taskIn, type Update, unusableAnswer, updateIn } from './objects.ts'
import { isFailureOf, rpcFailure } from './protocol-errors.ts'
import { type Operation, restRequest } from './rest.ts'

/** Some agents answer a message only once all is done. */
const sendMs = 300_000
/** A stream is opened again after this time without data. */
const silenceMs = 120_000
const readMs = 30_000
/** Messages of a task that are read again: those that a lost stream may have carried. */
const historyLength = 50
/** Tasks that are searched for a message, and the size of a page. */
const maxPages = 5
const pageSize = 100

/** Client of one agent, over either binding. All calls reject with `RuntimeFailure`, or with the reason of their signal. */
export type A2aApi = ReturnType<typeof a2aApi>

interface Parts {
  readonly connection: Pick<Connection, 'json' | 'events'>
  readonly address: AgentAddress
  readonly endpoint: Pick<RuntimeEndpoint, 'apiKey'>
}

export function a2aApi({ connection, address, endpoint }: Parts) {
  const clean = (text: string) => cleanText(text, endpoint)
  const { call, stream } =
    address.binding === 'JSONRPC' ? rpcCalls(connection, address, clean) : restCalls(connection, address)

  const get = async (id: string, signal: AbortSignal): Promise<AgentTask> =>
    taskIn(await call('GetTask', { id, historyLength }, { signal, timeoutMs: readMs }))

  return {
    get,

    /** Sends a message, and returns the task or the answer without waiting for the task to end. */
    async send(message: Json, signal: AbortSignal): Promise<Update> {
      const params = { message, configuration: { returnImmediately: true } }
      return updateIn(await call('SendMessage', params, { signal, timeoutMs: sendMs }))
    },

    /** Sends a message, and yields the task and its changes. */
    async *sendStreaming(message: Json, signal: AbortSignal): AsyncGenerator<Update> {
      for await (const frame of stream('SendStreamingMessage', { message }, { signal, silenceMs }))
        yield updateIn(frame)
    },

    /** Yields the task as it is, then its changes. */
    async *subscribe(id: string, signal: AbortSignal): AsyncGenerator<Update> {
      for await (const frame of stream('SubscribeToTask', { id }, { signal, silenceMs })) yield updateIn(frame)
    },

    /**
     * Finds the task of a message among the newest tasks of a context, or of all. Undefined when none has the message; rejects where
     * the agent cannot list its tasks.
     */
    async taskOfMessage(
      messageId: string,
      contextId: string | undefined,
      signal: AbortSignal,
    ): Promise<AgentTask | undefined> {
      let pageToken: string | undefined
      for (let pages = 0; pages < maxPages; pages++) {
        const query = { ...(contextId !== undefined && { contextId }), ...(pageToken !== undefined && { pageToken }) }
        const page = recordOf(
          await call('ListTasks', { ...query, pageSize, historyLength }, { signal, timeoutMs: readMs }),
        )
        const found = recordsOf(page['tasks'])
          .map(taskIn)
          .find(({ history }) => history.some(({ id }) => id === messageId))
        if (found) return found
        pageToken = nonEmptyText(page['nextPageToken'])
        if (pageToken === undefined) break
      }
      return undefined
    },

    /** Cancels a task; succeeds also when it has ended or does not exist. */
    async cancel(id: string, timeoutMs: number): Promise<void> {
      await call('CancelTask', { id }, { timeoutMs }).catch((error: unknown) => {
        if (!isFailureOf(error, 'TASK_NOT_CANCELABLE', 'TASK_NOT_FOUND') && !isFailureWithStatus(error, 404))
          throw error
      })
    },

    /** Asks for a task that does not exist: the cheapest call that needs the credential. */
    async probe(signal: AbortSignal): Promise<void> {
      await get(`switchyard-test-${randomUUID()}`, signal).catch((error: unknown) => {
        const isAnswered = isFailureOf(error, 'TASK_NOT_FOUND') || isFailureWithStatus(error, 404)
        if (!isAnswered || isFailureOf(error, 'METHOD_NOT_FOUND')) throw error
      })
    },
  }
}

interface CallOptions {
  readonly signal?: AbortSignal
  readonly timeoutMs: number
}

interface StreamOptions {
  readonly signal: AbortSignal
  readonly silenceMs: number
}

interface Calls {
  call(operation: Operation, params: Json, options: CallOptions): Promise<unknown>
  stream(operation: Operation, params: Json, options: StreamOptions): AsyncGenerator<unknown>
}

function rpcCalls(
  connection: Parts['connection'],
  { url, tenant }: AgentAddress,
  clean: (text: string) => string,
): Calls {
  const path = `${url.pathname}${url.search}`
  const body = (method: Operation, params: Json) => ({
    jsonrpc: '2.0',
    id: randomUUID(),
    method,
    params: { ...(tenant !== undefined && { tenant }), ...params },
  })
  const resultIn = (answer: unknown): unknown => {
    const { result, error } = recordOf(answer)
    if (isRecord(error)) throw rpcFailure(error, clean)
    if (result === undefined) throw unusableAnswer('an answer that is not a JSON-RPC response')
    return result
  }
  return {
    call: async (operation, params, options) =>
      resultIn(await connection.json({ method: 'POST', path, body: body(operation, params), ...options })),
    async *stream(operation, params, options) {
      const frames = connection.events({ path, body: body(operation, params), orJson: true, ...options })
      for await (const { data } of frames) yield resultIn(jsonOr(data, undefined))
    },
  }
}

function restCalls(connection: Parts['connection'], { url, tenant }: AgentAddress): Calls {
  const base = `${withoutTrailing(url.pathname, '/')}${tenant === undefined ? '' : `/${encodeURIComponent(tenant)}`}`
  return {
    call(operation, params, options) {
      const { method, path, body } = restRequest(operation, params)
      return connection.json({ method, path: `${base}${path}`, body, ...options })
    },
    async *stream(operation, params, options) {
      const { path, body } = restRequest(operation, params)
      const frames = connection.events({ path: `${base}${path}`, body, orJson: true, ...options })
      for await (const { data } of frames) yield jsonOr(data, undefined)
    },
  }
}
