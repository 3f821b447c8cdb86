import type { IncomingHttpHeaders } from 'node:http'
import { parseJsonText } from '../../http/json-body.ts'
import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { isRecord } from '../../platform/json.ts'
import { isResponse, type RpcMessage } from '../client/json-rpc.ts'
import type { ToolRule } from '../registry/server.ts'
import { deniedCall, rejectMismatch } from './policy.ts'

/** A checked body. */
export interface Posted {
  /** What is sent to the server. */
  readonly body: Buffer | string
  /** Ids of the requests in the body. */
  readonly ids: readonly (string | number)[]
  readonly isListening: boolean
  readonly messages: readonly RpcMessage[]
  readonly isBatch: boolean
  /** Names of the tools that the body calls. */
  readonly tools: readonly string[]
}

/** Headers of a client that are forwarded. Never its credentials, cookies or address. Dialects: section 6.3, rule 6. */
const forwarded = /^(accept|content-type|mcp-protocol-version|last-event-id|mcp-method|mcp-name|mcp-param-[a-z0-9_-]+)$/

/** Returns the headers of a client for the server. */
export function forwardedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const sent: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string' && forwarded.test(name)) sent[name] = value
  }
  return sent
}

const maxBatch = 100

/** Reads and checks a body. Throws `invalid_request`. A call of a denied tool throws with `id` in its fields. */
export function readPosted(body: Buffer, headers: IncomingHttpHeaders, rule: ToolRule): Posted {
  const messages = messagesOf(body)
  if (rule) {
    const denied = deniedCall(messages, rule)
    if (denied) throw new DeniedCall(denied)
    if (messages.length === 1 && messages[0])
      rejectMismatch(messages[0], name => {
        const value = headers[name]
        return typeof value === 'string' ? value : undefined
      })
  }
  const ids = messages.flatMap(message =>
    'method' in message && isId(message['id']) && !isResponse(message) ? [message['id']] : [],
  )
  return {
    // With a rule, the server must read exactly what was checked: parsers disagree about duplicate members.
    body: rule ? JSON.stringify(messages.length === 1 && !startsBatch(body) ? messages[0] : messages) : body,
    ids,
    tools: messages.flatMap(toolIn),
    isListening: messages.some(({ method }) => method === 'subscriptions/listen'),
    messages,
    isBatch: messages.length > 1 || startsBatch(body),
  }
}

/** A call of a tool that the caller may not call. */
export class DeniedCall extends AppError {
  readonly id: string | number | null

  constructor({ id, params }: RpcMessage) {
    const name = isRecord(params) && typeof params['name'] === 'string' ? params['name'].slice(0, 200) : ''
    super('invalid_request', `tool ${name} is not allowed`, { fields: { rpc: String(rpcCodes.invalidParams) } })
    this.id = isId(id) ? id : null
  }
}

const toolIn = ({ method, params }: RpcMessage): string[] =>
  method === 'tools/call' && isRecord(params) && typeof params['name'] === 'string' ? [params['name']] : []

const isId = (id: unknown): id is string | number => typeof id === 'string' || typeof id === 'number'

const startsBatch = (body: Buffer): boolean => body.toString('utf8', 0, 64).trimStart().startsWith('[')

function messagesOf(body: Buffer): readonly RpcMessage[] {
  let value: unknown
  try {
    value = parseJsonText(body.toString())
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new AppError('invalid_request', error.message, { fields: { rpc: String(rpcCodes.parse) } })
  }
  const messages = Array.isArray(value) ? value : [value]
  if (messages.length === 0 || messages.length > maxBatch)
    throw invalid(`request body must be one JSON-RPC message or 1 to ${maxBatch} of them`)
  if (!messages.every(isRecord)) throw invalid('request body must be a JSON-RPC message')
  return messages
}
