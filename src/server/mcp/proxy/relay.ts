import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { StringDecoder } from 'node:string_decoder'
import { sseFrame } from '../../../contract/sse.ts'
import { jsonRpcError } from '../../http/json-rpc-error.ts'
import { AppError } from '../../platform/errors.ts'
import { isResponse, messagesIn } from '../client/json-rpc.ts'
import { maxAnswerBytes, timedOut } from '../client/read-answer.ts'
import { type SseBlock, sseBlocks } from '../client/sse-blocks.ts'
import { asFailure, type UpstreamAnswer } from '../client/upstream.ts'
import type { RegisteredServer, ToolRule } from '../registry/server.ts'
import { filteredText } from './policy.ts'

type Id = string | number

interface Relay {
  readonly server: RegisteredServer
  readonly answer: UpstreamAnswer
  readonly rule: ToolRule
  /** Requests that this stream must answer; empty for the stream of a session. */
  readonly ids: readonly Id[]
  /** True for a stream that no answer ends; it may be silent for any time. */
  readonly isEndless: boolean
  readonly headers: Readonly<Record<string, string>>
  /** Aborts when the client disconnects, its key is revoked, or the process stops. */
  readonly signal: AbortSignal
}

/**
 * Passes an event stream on, event by event. A stream that ends before its response gets an error in its place, unless
 * the client can resume it by an event id. Dialects: section 6.3.
 */
export async function relayEvents(response: ServerResponse, relay: Relay): Promise<void> {
  const { server, answer, ids, signal } = relay
  response.writeHead(answer.status, relay.headers)
  response.flushHeaders()
  const open = new Set<Id>(ids)
  let isResumable = false
  let failure: AppError | undefined
  const decoder = new StringDecoder('utf8')
  const blocks = sseBlocks(maxAnswerBytes)
  const watch = watchSilence(relay)
  try {
    for await (const chunk of answer.body) {
      for (const block of blocks.read(decoder.write(chunk))) {
        isResumable ||= block.hasId
        watch.saw(block)
        forget(open, block)
        if (!response.write(passed(block, relay))) await once(response, 'drain', { signal })
      }
    }
  } catch (error) {
    if (!signal.aborted) failure = failureOf(error, server)
  } finally {
    watch.stop()
    answer.body.destroy()
  }
  if (!signal.aborted && (failure || !isResumable)) {
    failure ??= new AppError(
      'upstream_unreachable',
      `MCP server ${server.server_name} closed the stream before the response`,
    )
    for (const id of open)
      response.write(sseFrame({ event: 'message', data: JSON.stringify(jsonRpcError(failure, id)) }))
  }
  response.end()
}

function failureOf(error: unknown, server: RegisteredServer): AppError {
  const failure = asFailure(error, server)
  return failure instanceof AppError
    ? failure
    : new AppError('upstream_unreachable', `MCP server ${server.server_name} broke the stream`, { cause: error })
}

/** How long a call may be silent, and for how long after the server has asked its client for something. */
const silenceMs = 60_000
const questionMs = 10 * 60_000

/** Ends a stream whose server is silent for too long. */
function watchSilence({ server, answer, isEndless }: Pick<Relay, 'server' | 'answer' | 'isEndless'>) {
  let patienceMs = silenceMs
  const start = () => (isEndless ? undefined : setTimeout(() => answer.body.destroy(timedOut(server)), patienceMs))
  let timer = start()
  return {
    saw({ data }: SseBlock): void {
      // People answer these requests, on another connection.
      if (/"method"/.test(data) && messagesIn(data).some(({ id, method }) => id !== undefined && method !== undefined))
        patienceMs = questionMs
      clearTimeout(timer)
      timer = start()
    },
    stop: () => clearTimeout(timer),
  }
}

/** Forgets the requests that an event answers. */
function forget(open: Set<Id>, { data }: SseBlock): void {
  if (open.size === 0 || !/"(result|error)"/.test(data)) return
  for (const message of messagesIn(data)) if (isResponse(message)) open.delete(message['id'] as Id)
}

/** Returns the text of an event for the client. It is unchanged unless it has a denied tool or the credential. */
function passed({ raw, data }: SseBlock, { answer, rule }: Pick<Relay, 'answer' | 'rule'>): string {
  const filtered = rule && data !== '' ? filteredText(data, rule) : data
  if (filtered === data) return answer.scrub(raw)
  const others = raw.split(/\r\n|\n|\r/).filter(line => line !== '' && !/^data(:|$)/.test(line))
  return answer.scrub(`${[...others, `data: ${filtered}`].join('\n')}\n\n`)
}
