import { StringDecoder } from 'node:string_decoder'
import type { Dispatcher } from 'undici'
import { type SseFrame, SseLineTooLong, sseReader } from '../../../contract/sse.ts'
import { withoutEchoes } from '../../platform/echoes.ts'
import { jsonOr } from '../../platform/json.ts'
import { mediaTypeIn } from '../../platform/media-type.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { OutboundBlocked } from '../../platform/outbound.ts'
import { Pool, request } from '../../platform/undici.ts'
import { type RuntimeEndpoint, RuntimeFailure } from '../runtime.ts'
import { errorTextIn } from './error-text.ts'

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path after the endpoint's address, starting with a slash, with its query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal
  /** For the whole response; 60,000 by default. */
  readonly timeoutMs?: number
}

interface StreamCall extends Omit<Call, 'method' | 'timeoutMs'> {
  /** Sent as JSON by POST; without it the request is a GET. */
  readonly body?: unknown
  /** Accepts JSON in place of a stream: its text is the only frame. Any third content type is then an error. */
  readonly orJson?: true
  /** Maximum time without data on the stream; 60,000 by default. */
  readonly silenceMs?: number
  /** Called once with the response headers, before the first frame. */
  readonly onOpen?: (headers: Readonly<Record<string, unknown>>) => void
}

/** Code and message of a provider's error response. */
export interface ErrorDetails {
  readonly code?: string | undefined
  readonly message?: string | undefined
}

/** Differences between providers. */
export interface Dialect {
  readonly headers: (endpoint: RuntimeEndpoint) => Readonly<Record<string, string>>
  /** Reads an error body; both fields are undefined when it has no details. */
  readonly errorIn: (body: unknown) => ErrorDetails
}

/** Connection to one external runtime. All calls reject with `RuntimeFailure`, or with the reason of their signal. */
export interface Connection {
  /** Returns the JSON of a 2xx response; undefined for an empty body. */
  json(call: Call): Promise<unknown>
  /** Yields the frames of a stream until the provider ends it. A frame has at most 16 Mi characters. */
  events(call: StreamCall): AsyncGenerator<SseFrame>
  /** Closes all connections, including those in use. */
  close(): Promise<void>
}

/** Passes `open` to `use`, closes it, and returns the result of `use`. */
export async function closing<T extends { close(): Promise<void> }, R>(
  open: T,
  use: (open: T) => Promise<R>,
): Promise<R> {
  try {
    return await use(open)
  } finally {
    await open.close()
  }
}

const connectMs = 5_000
const totalMs = 60_000
const maxAnswerBytes = 32 * 1024 * 1024

/** Connects to a runtime through the guard of `outbound`, on the first call. A redirect is an error. */
export function createConnection(
  outbound: Pick<Outbound, 'connect'>,
  endpoint: RuntimeEndpoint,
  dialect: Dialect,
): Connection {
  const { origin, pathname } = new URL(endpoint.apiBase)
  const prefix = pathname === '/' ? '' : pathname
  const pool = new Pool(origin, { connect: outbound.connect(connectMs), connections: null, keepAliveTimeout: 10_000 })

  const open = async (
    { path, headers, signal }: Pick<Call, 'path' | 'headers' | 'signal'>,
    rest: Pick<Dispatcher.RequestOptions, 'method'> & Partial<Dispatcher.RequestOptions>,
  ) => {
    const answer = await request.call(pool, {
      ...rest,
      path: `${prefix}${path}`,
      headers: {
        accept: 'application/json, text/event-stream',
        ...dialect.headers(endpoint),
        ...headers,
        ...rest.headers,
      },
      signal: signal ?? null,
    })
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer
    const { statusCode, headers: sent, body } = answer
    throw failureOf(statusCode, { headers: sent, text: await textOf(body), endpoint, dialect })
  }

  return {
    async json({ method, body, timeoutMs = totalMs, ...call }) {
      const timeout = AbortSignal.timeout(timeoutMs)
      const signal = call.signal ? AbortSignal.any([call.signal, timeout]) : timeout
      try {
        const answer = await open({ ...call, signal }, { method, ...asJson(body), headersTimeout: 0, bodyTimeout: 0 })
        const text = await textOf(answer.body)
        return text.trim() === '' ? undefined : parsed(text)
      } catch (error) {
        throw asFailure(error, { signal: call.signal, timeout })
      }
    },

    async *events({ silenceMs = totalMs, onOpen, body, orJson, ...call }) {
      try {
        const { headers, ...sent } = asJson(body)
        const accept = { ...headers, accept: 'text/event-stream' }
        const times = { headersTimeout: silenceMs, bodyTimeout: silenceMs }
        const method = body === undefined ? 'GET' : 'POST'
        const answer = await open(call, { method, ...sent, ...times, headers: accept })
        onOpen?.(answer.headers)
        if (orJson && hasJson(answer)) yield { data: await textOf(answer.body) }
        else yield* framesOf(answer.body)
      } catch (error) {
        throw asFailure(error, { signal: call.signal })
      }
    },

    close: () => pool.destroy(),
  }
}

const asJson = (body: unknown): { body?: string; headers?: Readonly<Record<string, string>> } =>
  body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }

/** Reports whether a response is JSON, not a stream. Throws for any other content type. */
function hasJson({ headers, body }: Pick<Dispatcher.ResponseData, 'headers' | 'body'>): boolean {
  const type = mediaTypeIn(headers['content-type'])
  if (type === 'text/event-stream') return false
  if (/^application\/([\w.-]+\+)?json$/.test(type)) return true
  destroy(body)
  throw new RuntimeFailure(
    'model_request_failed_error',
    `the runtime answered with content type ${type.slice(0, 100) || 'none'} in place of a stream`,
  )
}

/** Yields the frames of a body, and destroys the body when the reader stops. */
async function* framesOf(body: Dispatcher.ResponseData['body']): AsyncGenerator<SseFrame> {
  const read = sseReader()
  const decoder = new StringDecoder('utf8')
  try {
    for await (const chunk of body) yield* read(decoder.write(chunk as Buffer))
  } finally {
    destroy(body)
  }
}

function destroy(body: Dispatcher.ResponseData['body']): void {
  // The destroyed body may emit an error, which is not an error of the stream.
  body.on('error', () => undefined)
  body.destroy()
}

async function textOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += (chunk as Buffer).length
    if (size > maxAnswerBytes)
      throw new RuntimeFailure('model_request_failed_error', 'the response of the runtime exceeds 32 MiB')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString()
}

function parsed(text: string): unknown {
  const value = jsonOr(text, undefined)
  if (value === undefined)
    throw new RuntimeFailure('model_request_failed_error', 'the response of the runtime is not JSON')
  return value
}

interface ErrorResponse {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  readonly endpoint: RuntimeEndpoint
  readonly dialect: Dialect
}

function failureOf(status: number, { headers, text, endpoint, dialect }: ErrorResponse): RuntimeFailure {
  const { code, message } = dialect.errorIn(jsonOr(text, undefined))
  const words = cleanText(message ?? errorTextIn(text) ?? '', endpoint)
  const seconds = Number(headers['retry-after'])
  return new RuntimeFailure(typeOfStatus(status), `${meaning(status)}${words === '' ? '' : `: ${words}`}`, {
    status,
    code,
    retryAfterMs: Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, 3600) * 1000 : undefined,
  })
}

const meaning = (status: number): string => {
  if (status === 401 || status === 403) return `the runtime rejected the credential (${status})`
  if (status >= 300 && status < 400) return `the runtime answered with a redirect (${status}), which is not followed`
  if (status >= 500) return `the runtime failed (${status})`
  return `the runtime rejected the request (${status})`
}

/** Maps an HTTP status to a Managed Agents error type. */
function typeOfStatus(status: number): string {
  if (status === 402) return 'billing_error'
  if (status === 429) return 'model_rate_limited_error'
  if (status === 529 || status === 503) return 'model_overloaded_error'
  return 'model_request_failed_error'
}

const maxCleanLength = 400
/** Longest input that is searched; most of it may be markup. */
const maxRawLength = 20_000

/** Returns a provider's text on one line, without its credential in any encoding, markup and control characters. */
export function cleanText(text: string, { apiKey }: Pick<RuntimeEndpoint, 'apiKey'>): string {
  const words = text
    .slice(0, maxRawLength)
    .replaceAll(/<[^>]{0,1000}>/g, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, maxCleanLength)
  return withoutEchoes(words, apiKey === undefined ? [] : [apiKey]).slice(0, maxCleanLength)
}

/** Returns the reason of an aborted signal unchanged; converts any other error to a `RuntimeFailure`. */
function asFailure(
  error: unknown,
  { signal, timeout }: { signal?: AbortSignal | undefined; timeout?: AbortSignal },
): unknown {
  if (signal?.aborted) return signal.reason
  if (error instanceof RuntimeFailure) return error
  if (timeout?.aborted)
    return new RuntimeFailure('model_request_failed_error', 'the runtime did not answer in time', { cause: error })
  if (error instanceof OutboundBlocked) return new RuntimeFailure('model_request_failed_error', error.message)
  if (error instanceof SseLineTooLong)
    return new RuntimeFailure('model_request_failed_error', `cannot read the stream of the runtime: ${error.message}`)
  const { code } = error as NodeJS.ErrnoException
  const detail = typeof code === 'string' ? ` (${code})` : ''
  return new RuntimeFailure('model_request_failed_error', `the connection to the runtime failed${detail}`, {
    cause: error,
  })
}
