import { StringDecoder } from 'node:string_decoder'
import type { Dispatcher } from 'undici'
import { type SseFrame, SseLineTooLong, sseReader } from '../../../contract/sse.ts'
import { withoutEchoes } from '../../platform/echoes.ts'
import { jsonOr } from '../../platform/json.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { OutboundRefused } from '../../platform/outbound.ts'
import { Pool, request } from '../../platform/undici.ts'
import { type RuntimeEndpoint, RuntimeFailure } from '../runtime.ts'
import { refusalWords } from './refusal-words.ts'

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** From the first slash behind the endpoint's address, query included. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal
  /** For the whole answer; 60,000 unless given. */
  readonly timeoutMs?: number
}

interface StreamCall extends Omit<Call, 'method' | 'body' | 'timeoutMs'> {
  /** A stream that is silent for longer is given up; 60,000 unless given. */
  readonly silenceMs?: number
  /** Called once, with the headers of the answer, before the first frame. */
  readonly onOpen?: (headers: Readonly<Record<string, unknown>>) => void
}

/** What an error answer says, in the words of its provider. */
export interface Refusal {
  readonly code?: string | undefined
  readonly message?: string | undefined
}

/** What one provider does differently from the next. */
export interface Dialect {
  readonly headers: (endpoint: RuntimeEndpoint) => Readonly<Record<string, string>>
  /** Reads an error body; nothing when it says nothing. */
  readonly refusalIn: (body: unknown) => Refusal
}

/** The way to one foreign runtime. All calls reject with `RuntimeFailure`, or with the reason of their signal. */
export interface Connection {
  /** The JSON of a 2xx answer; undefined when it is empty. */
  json(call: Call): Promise<unknown>
  /** The frames of a stream as they come; ends when the provider ends it. A frame may hold 16 Mi characters. */
  events(call: StreamCall): AsyncGenerator<SseFrame>
  /** Ends all connections, also those at work. */
  close(): Promise<void>
}

/** What `use` makes of something that has to be closed, once that is closed. */
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

/** Connects to a runtime through the guard of `outbound`. It opens nothing before the first call; redirects are refusals. */
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
    const { statusCode, headers: told, body } = answer
    throw refused(statusCode, { told, text: await textOf(body), endpoint, dialect })
  }

  return {
    async json({ method, body, timeoutMs = totalMs, ...call }) {
      const late = AbortSignal.timeout(timeoutMs)
      const signal = call.signal ? AbortSignal.any([call.signal, late]) : late
      try {
        const sent =
          body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
        const answer = await open({ ...call, signal }, { method, ...sent, headersTimeout: 0, bodyTimeout: 0 })
        const text = await textOf(answer.body)
        return text.trim() === '' ? undefined : parsed(text)
      } catch (error) {
        throw asFailure(error, { signal: call.signal, late })
      }
    },

    async *events({ silenceMs = totalMs, onOpen, ...call }) {
      try {
        const times = { headersTimeout: silenceMs, bodyTimeout: silenceMs }
        const answer = await open(call, { method: 'GET', ...times, headers: { accept: 'text/event-stream' } })
        onOpen?.(answer.headers)
        yield* framesOf(answer.body)
      } catch (error) {
        throw asFailure(error, { signal: call.signal })
      }
    },

    close: () => pool.destroy(),
  }
}

/** Ends the body however the reader leaves. */
async function* framesOf(body: Dispatcher.ResponseData['body']): AsyncGenerator<SseFrame> {
  const read = sseReader()
  const decoder = new StringDecoder('utf8')
  try {
    for await (const chunk of body) yield* read(decoder.write(chunk as Buffer))
  } finally {
    // A reader that leaves early is no error of the stream.
    body.on('error', () => undefined)
    body.destroy()
  }
}

async function textOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += (chunk as Buffer).length
    if (size > maxAnswerBytes)
      throw new RuntimeFailure('model_request_failed_error', 'the runtime answered with more than 32 MiB')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString()
}

function parsed(text: string): unknown {
  const value = jsonOr(text, undefined)
  if (value === undefined)
    throw new RuntimeFailure('model_request_failed_error', 'the runtime answered with something that is not JSON')
  return value
}

interface Refused {
  readonly told: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  readonly endpoint: RuntimeEndpoint
  readonly dialect: Dialect
}

function refused(status: number, { told, text, endpoint, dialect }: Refused): RuntimeFailure {
  const { code, message } = dialect.refusalIn(jsonOr(text, undefined))
  const words = cleanText(message ?? refusalWords(text) ?? '', endpoint)
  const seconds = Number(told['retry-after'])
  return new RuntimeFailure(typeOfStatus(status), `${meaning(status)}${words === '' ? '' : `: ${words}`}`, {
    status,
    code,
    retryAfterMs: Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, 3600) * 1000 : undefined,
  })
}

const meaning = (status: number): string => {
  if (status === 401 || status === 403) return `the runtime refused the credential (${status})`
  if (status >= 300 && status < 400) return `the runtime answered with a redirect (${status}), which is not followed`
  if (status >= 500) return `the runtime failed (${status})`
  return `the runtime refused the call (${status})`
}

/** The Managed Agents error type that stands for a status. */
function typeOfStatus(status: number): string {
  if (status === 402) return 'billing_error'
  if (status === 429) return 'model_rate_limited_error'
  if (status === 529 || status === 503) return 'model_overloaded_error'
  return 'model_request_failed_error'
}

const maxWords = 400
/** Of what a provider sent; markup may make up most of it. */
const maxCleaned = 20_000

/** A provider's words on one line, without any writing of its credential, without markup and control characters. */
export function cleanText(text: string, { apiKey }: Pick<RuntimeEndpoint, 'apiKey'>): string {
  const words = text
    .slice(0, maxCleaned)
    .replaceAll(/<[^>]{0,1000}>/g, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, maxWords)
  return withoutEchoes(words, apiKey === undefined ? [] : [apiKey]).slice(0, maxWords)
}

/** The reason of a signal goes on as it is; whatever else went wrong becomes a failure with words of ours. */
function asFailure(
  error: unknown,
  { signal, late }: { signal?: AbortSignal | undefined; late?: AbortSignal },
): unknown {
  if (signal?.aborted) return signal.reason
  if (error instanceof RuntimeFailure) return error
  if (late?.aborted)
    return new RuntimeFailure('model_request_failed_error', 'the runtime did not answer in time', { cause: error })
  if (error instanceof OutboundRefused) return new RuntimeFailure('model_request_failed_error', error.message)
  if (error instanceof SseLineTooLong)
    return new RuntimeFailure('model_request_failed_error', `the stream of the runtime: ${error.message}`)
  const { code } = error as NodeJS.ErrnoException
  const detail = typeof code === 'string' ? ` (${code})` : ''
  return new RuntimeFailure('model_request_failed_error', `the connection to the runtime failed${detail}`, {
    cause: error,
  })
}
