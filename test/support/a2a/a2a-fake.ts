import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { type Json, jsonOr, recordOf, recordsOf, textOf } from '../../../src/server/platform/json.ts'
import { onLoopback } from '../service/on-loopback.ts'
import { type A2aStep, FakeTask } from './a2a-fake-task.ts'

/** What the agent does, by the text of a message: the steps of a task, or the text of an answer without one. */
export type A2aScript = (prompt: string) => readonly A2aStep[] | string

export interface A2aCall {
  /** Name of the operation in JSON-RPC, or `card`. */
  readonly name: string
  readonly params: Json
  readonly headers: IncomingMessage['headers']
}

/** What the next calls of an operation meet. */
interface Fault {
  readonly name: string
  /**
   * Rejects with that status, or that code of JSON-RPC; sends those bytes with that content type; hangs; or breaks the connection,
   * before or after the call has had its effect.
   */
  readonly how: number | { readonly body: string; readonly type: string } | 'hang' | 'break-before' | 'break-after'
  readonly headers: Readonly<Record<string, string>>
  times: number
}

interface Options {
  /** Answers with `Done.` by default. */
  readonly script?: A2aScript
  readonly binding?: 'JSONRPC' | 'HTTP+JSON'
  readonly isStreaming?: boolean
  /** The agent lists its tasks; true by default. */
  readonly listsTasks?: boolean
  /** Key that every call except that of the card needs, as a bearer token; none by default. */
  readonly key?: string
  /** Changes of the card. */
  readonly card?: (card: Json, url: string) => Json
}

type Answer =
  | { readonly result: unknown }
  | { readonly follow: FakeTask; readonly first: Json }
  | { readonly rejected: number }

const sayDone: A2aScript = () => [{ artifact: ['Done.'] }]

/** Starts an agent of A2A 1.0 whose tasks play a script, with one binding. */
export async function startA2aFake({
  script = sayDone,
  binding = 'JSONRPC',
  isStreaming = true,
  listsTasks = true,
  key,
  card: changed = card => card,
}: Options = {}) {
  const tasks: FakeTask[] = []
  const calls: A2aCall[] = []
  const faults: Fault[] = []

  const cardOf = (url: string): Json => ({
    name: 'Fake',
    description: 'Plays a script',
    version: '1',
    supportedInterfaces: [{ url: `${url}/agent`, protocolBinding: binding, protocolVersion: '1.0' }],
    capabilities: { streaming: isStreaming },
    ...(key !== undefined && {
      securitySchemes: { token: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { token: { list: [] } } }],
    }),
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  })

  function sent(message: Json): FakeTask | string | undefined {
    const { taskId, contextId } = message
    if (taskId !== undefined) {
      const task = tasks.find(({ id }) => id === taskId)
      if (!task?.isAsking) return undefined
      task.answer(message)
      return task
    }
    const steps = script(
      recordsOf(message['parts'])
        .map(part => textOf(part['text']))
        .join('\n'),
    )
    if (typeof steps === 'string') return steps
    const task = new FakeTask(textOf(contextId) || `context-${randomUUID()}`, message)
    tasks.push(task)
    void task.play(steps)
    return task
  }

  function sentAnswer(name: string, message: Json): Answer {
    const made = sent(message)
    if (made === undefined) return { rejected: -32004 }
    if (typeof made !== 'string') {
      const first = { task: made.toJson() }
      return name === 'SendMessage' ? { result: first } : { follow: made, first }
    }
    const answer = { messageId: randomUUID(), contextId: 'direct', role: 'ROLE_AGENT', parts: [{ text: made }] }
    return { result: { message: answer } }
  }

  function listAnswer({ contextId: wanted }: Json): Answer {
    if (!listsTasks) return { rejected: -32004 }
    const found = tasks.filter(({ contextId }) => wanted === undefined || wanted === contextId)
    return { result: { tasks: found.map(each => each.toJson()).reverse(), nextPageToken: '' } }
  }

  function taskAnswer(name: string, task: FakeTask): Answer {
    if (name === 'GetTask') return { result: task.toJson() }
    if (task.isOver) return { rejected: name === 'CancelTask' ? -32002 : -32004 }
    if (name === 'SubscribeToTask') return { follow: task, first: { task: task.toJson() } }
    task.cancel()
    return { result: task.toJson() }
  }

  function answerTo(name: string, params: Json): Answer {
    if (name === 'card') return { result: changed(cardOf(url), url) }
    if (name.startsWith('Send')) return sentAnswer(name, recordOf(params['message']))
    if (name === 'ListTasks') return listAnswer(params)
    if (!['GetTask', 'CancelTask', 'SubscribeToTask'].includes(name)) return { rejected: -32601 }
    const task = tasks.find(({ id }) => id === params['id'])
    return task ? taskAnswer(name, task) : { rejected: -32001 }
  }

  const isPermitted = (name: string, { authorization }: IncomingMessage['headers']): boolean =>
    key === undefined || name === 'card' || authorization === `Bearer ${key}`

  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { name, params, id } = callOf(request, await text(request))
    calls.push({ name, params, headers: request.headers })
    const fault = faults.find(each => each.name === name && each.times > 0)
    if (fault) fault.times--
    if (fault && fault.how !== 'break-after') return fail(response, fault, id)
    const answer = isPermitted(name, request.headers) ? answerTo(name, params) : { rejected: 401 }
    if (fault) return void response.destroy()
    if ('rejected' in answer) return reject(response, answer.rejected, { id })
    const wrapped = (result: unknown) => (id === undefined ? result : { jsonrpc: '2.0', id, result })
    if ('follow' in answer) return follow(response, answer, wrapped)
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(wrapped(answer.result)))
  }

  const server = createServer((request, response) => void onRequest(request, response))
  const { host, url, close } = await onLoopback(server)

  return {
    host,
    url,
    key,
    /** All tasks so far, in order. */
    tasks,
    /** All calls so far, in order. */
    calls,
    /** Messages that were sent to the agent, also again. */
    get messages(): Json[] {
      return calls.flatMap(({ name, params }) => (name.startsWith('Send') ? [recordOf(params['message'])] : []))
    },
    count: (name: string): number => calls.filter(call => call.name === name).length,
    fail(name: string, how: Fault['how'], { times = 1, headers = {} }: Partial<Omit<Fault, 'name' | 'how'>> = {}) {
      faults.push({ name, how, times, headers })
    },
    stop: close,
  }
}

/** Status and name of the errors in the HTTP+JSON binding. */
const errors: Readonly<Record<number, readonly [number, string]>> = {
  [-32001]: [404, 'TASK_NOT_FOUND'],
  [-32002]: [400, 'TASK_NOT_CANCELABLE'],
  [-32004]: [400, 'UNSUPPORTED_OPERATION'],
  [-32601]: [404, 'METHOD_NOT_FOUND'],
}

/** Answers as a fault says, without an effect of the call. */
function fail(response: ServerResponse, { how, headers }: Fault, id: unknown): void {
  if (how === 'break-before') response.destroy()
  else if (typeof how === 'object') response.writeHead(200, { 'content-type': how.type }).end(how.body)
  else if (typeof how === 'number') reject(response, how, { id, headers })
}

interface Rejection {
  readonly id: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
}

function reject(response: ServerResponse, code: number, { id, headers = {} }: Rejection): void {
  const said = `The fake says ${code}`
  const type = { 'content-type': 'application/json', ...headers }
  if (code < 0 && id !== undefined) {
    response.writeHead(200, type).end(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: said } }))
    return
  }
  const [status, reason] = code < 0 ? (errors[code] ?? [500, 'INTERNAL']) : [code, undefined]
  const details = reason === undefined ? [] : [{ '@type': 'ErrorInfo', reason }]
  response.writeHead(status, type).end(JSON.stringify({ error: { code: status, message: said, details } }))
}

/** Streams a task until it ends or asks. */
function follow(
  response: ServerResponse,
  { follow: task, first }: { readonly follow: FakeTask; readonly first: Json },
  wrapped: (result: unknown) => unknown,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const write = (frame: unknown) => void response.write(`data: ${JSON.stringify(wrapped(frame))}\n\n`)
  const raw = (bytes: string) => void response.write(bytes)
  // The text before it arrives.
  const cut = () => void response.write(': cut\n\n', () => response.destroy())
  const settled = () => void response.end()
  task.events.on('frame', write).on('raw', raw).on('cut', cut).on('settled', settled)
  response.once('close', () => task.events.off('frame', write).off('raw', raw).off('cut', cut).off('settled', settled))
  write(first)
  const state = String(recordOf(recordOf(first['task'])['status'])['state'])
  if (/COMPLETED|FAILED|CANCELED|REJECTED/.test(state)) settled()
}

const restOperations: readonly (readonly [RegExp, string])[] = [
  [/^POST \/agent\/message:send$/, 'SendMessage'],
  [/^POST \/agent\/message:stream$/, 'SendStreamingMessage'],
  [/^GET \/agent\/tasks$/, 'ListTasks'],
  [/^GET \/agent\/tasks\/([^/:]+)$/, 'GetTask'],
  [/^POST \/agent\/tasks\/([^/:]+):cancel$/, 'CancelTask'],
  [/^POST \/agent\/tasks\/([^/:]+):subscribe$/, 'SubscribeToTask'],
]

/** Returns the operation of a request of either binding; `id` only for JSON-RPC. */
function callOf({ method, url = '/' }: IncomingMessage, body: string) {
  const { pathname, searchParams } = new URL(url, 'http://fake')
  const json = recordOf(jsonOr(body, {}))
  if (pathname.endsWith('agent-card.json')) return { name: 'card', params: {}, id: undefined }
  if (json['jsonrpc'] === '2.0')
    return { name: textOf(json['method']), params: recordOf(json['params']), id: json['id'] }
  for (const [pattern, name] of restOperations) {
    const match = pattern.exec(`${method} ${pathname}`)
    const id = match?.[1] === undefined ? {} : { id: decodeURIComponent(match[1]) }
    if (match) return { name, params: { ...Object.fromEntries(searchParams), ...json, ...id }, id: undefined }
  }
  return { name: `${method} ${pathname}`, params: {}, id: undefined }
}
