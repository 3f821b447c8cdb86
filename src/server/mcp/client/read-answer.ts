import { StringDecoder } from 'node:string_decoder'
import { AppError } from '../../platform/errors.ts'
import type { RegisteredServer } from '../registry/server.ts'
import { isResponse, messagesIn, type RpcMessage } from './json-rpc.ts'
import { sseBlocks } from './sse-blocks.ts'
import { asFailure, type UpstreamAnswer } from './upstream.ts'

/** Maximum bytes of a JSON answer, and characters of one event. Security: S24. */
export const maxAnswerBytes = 10 * 1024 * 1024

/** Returns the text of an answer. Throws `upstream_unreachable` above `maxAnswerBytes`. */
export async function textOfAnswer(answer: UpstreamAnswer, server: RegisteredServer): Promise<string> {
  const decoder = new StringDecoder('utf8')
  const parts: string[] = []
  let size = 0
  const timer = setTimeout(() => answer.body.destroy(timedOut(server)), maxReadMs)
  try {
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxAnswerBytes) throw tooLarge(server)
      parts.push(decoder.write(chunk))
    }
  } catch (error) {
    throw asFailure(error, server)
  } finally {
    clearTimeout(timer)
  }
  return answer.scrub(parts.join('') + decoder.end())
}

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
}

/** Returns the response to request `id`, from JSON or an event stream. */
export async function responseIn(answer: UpstreamAnswer, { server, id, onMessage }: Reading): Promise<RpcMessage> {
  const take = (text: string): RpcMessage | undefined => {
    for (const message of messagesIn(text)) {
      if (isResponse(message) && message['id'] === id) return message
      if ('method' in message) onMessage(message)
    }
    return undefined
  }
  if (answer.contentType !== 'text/event-stream') {
    const found = take(await textOfAnswer(answer, server))
    if (found) return found
    throw noResponse(server, `answered with status ${answer.status} and no response to the request`)
  }
  try {
    const decoder = new StringDecoder('utf8')
    const blocks = sseBlocks(maxAnswerBytes)
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      for (const { data } of blocks.read(decoder.write(chunk))) {
        const found = data === '' ? undefined : take(answer.scrub(data))
        if (found) return found
      }
    }
  } catch (error) {
    throw asFailure(error, server)
  } finally {
    answer.body.destroy()
  }
  throw noResponse(server, 'closed the stream before the response')
}

const noResponse = ({ server_name }: RegisteredServer, problem: string): AppError =>
  new AppError('upstream_unreachable', `MCP server ${server_name} ${problem}`)
