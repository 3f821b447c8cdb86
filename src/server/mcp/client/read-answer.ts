import { StringDecoder } from 'node:string_decoder'
import { sseReader } from '../../../contract/sse.ts'
import { AppError } from '../../platform/errors.ts'
import type { RegisteredServer } from '../registry/server.ts'
import { isResponse, messagesIn, type RpcMessage } from './json-rpc.ts'
import { serverFailure } from './server-failure.ts'
import { asFailure, type UpstreamAnswer } from './upstream.ts'

/** Maximum bytes of a JSON answer, and characters of one event. Security: S24. */
export const maxAnswerBytes = 10 * 1024 * 1024

/** Returns the body of an answer. Throws `upstream_unreachable` above `maxAnswerBytes`. */
export async function bodyOfAnswer(answer: UpstreamAnswer, server: RegisteredServer): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  const timer = setTimeout(() => answer.body.destroy(timedOut(server)), maxReadMs)
  try {
    for await (const chunk of answer.body) {
      size += chunk.length
      if (size > maxAnswerBytes) throw tooLarge(server)
      chunks.push(chunk)
    }
  } catch (error) {
    throw asFailure(error, server)
  } finally {
    clearTimeout(timer)
  }
  const [first] = chunks
  return chunks.length === 1 && first ? first : Buffer.concat(chunks, size)
}

/** Returns the text of an answer without the credential of the server. Throws as `bodyOfAnswer` does. */
export const textOfAnswer = async (answer: UpstreamAnswer, server: RegisteredServer): Promise<string> =>
  answer.scrub((await bodyOfAnswer(answer, server)).toString())

/** Reads a body that nobody needs, so that its connection can be used again. */
export async function discard(answer: UpstreamAnswer): Promise<void> {
  let size = 0
  try {
    for await (const chunk of answer.body) {
      size += chunk.length
      if (size > maxDiscardedBytes) return
    }
  } catch {
    // Nobody waits for it.
  }
}

const maxDiscardedBytes = 64 * 1024
const maxReadMs = 60_000

/** Error of a server that is silent for too long. */
export const timedOut = ({ server_name }: RegisteredServer): AppError =>
  new AppError('upstream_timeout', `MCP server ${server_name} did not answer in time`)

const tooLarge = ({ server_name }: RegisteredServer): AppError =>
  new AppError('upstream_unreachable', `MCP server ${server_name} returned more than ${maxAnswerBytes} bytes`)

interface Reading {
  readonly server: RegisteredServer
  readonly id: number
  /** Called with each notification and each request of the server. */
  readonly onMessage: (message: RpcMessage) => void
  /** Called with every part of the answer. */
  readonly onBytes?: (() => void) | undefined
}

/** Returns the response to request `id`, from JSON or an event stream. */
export async function responseIn(answer: UpstreamAnswer, reading: Reading): Promise<RpcMessage> {
  const { server } = reading
  const isStream = answer.contentType === 'text/event-stream'
  const { response } = isStream
    ? await readEvents(answer, reading)
    : { response: responseOf(await textOfAnswer(answer, server), reading) }
  if (response) return response
  throw serverFailure(
    server,
    isStream
      ? 'closed the stream before the response'
      : `answered with status ${answer.status} and no response to the request`,
  )
}

/** What a stream has contained until its end, or until the response. */
interface ReadEvents {
  readonly response?: RpcMessage
  /** Id of the last event, for resuming; undefined when its events have no ids. */
  readonly lastEventId?: string
  /** Pause before resuming that the server asks for. */
  readonly retryMs?: number
}

/** Reads an event stream to the response of request `id`, or to its end. Without an id, to its end. */
export async function readEvents(
  answer: UpstreamAnswer,
  reading: Omit<Reading, 'id'> & { readonly id?: number },
): Promise<ReadEvents> {
  let found: ReadEvents = {}
  const decoder = new StringDecoder('utf8')
  const read = sseReader({
    maxLength: maxAnswerBytes,
    onRetry: retryMs => {
      found = { ...found, retryMs }
    },
  })
  try {
    for await (const chunk of answer.body) {
      reading.onBytes?.()
      for (const { data, id } of read(decoder.write(chunk))) {
        if (id !== undefined) found = { ...found, lastEventId: id }
        const response = data === '' ? undefined : responseOf(answer.scrub(data), reading)
        if (response) return { ...found, response }
      }
    }
    return found
  } catch (error) {
    throw asFailure(error, reading.server)
  } finally {
    answer.body.destroy()
  }
}

/** Returns the response in a text. Other messages of the server go to `onMessage`. */
function responseOf(
  text: string,
  { id, onMessage }: Pick<Reading, 'onMessage'> & { readonly id?: number },
): RpcMessage | undefined {
  for (const message of messagesIn(text)) {
    if (id !== undefined && isResponse(message) && message['id'] === id) return message
    if ('method' in message) onMessage(message)
  }
  return undefined
}
