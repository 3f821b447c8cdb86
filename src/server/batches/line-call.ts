import { statusOfCode } from '../../contract/error-codes.ts'
import type { BatchAnswer, Call, Sink } from '../gateway/core/call.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Caller } from '../http/caller.ts'
import { AppError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { jsonOr } from '../platform/json.ts'
import { OutboundBlocked } from '../platform/outbound.ts'
import { errorBody } from './errors.ts'
import type { ClaimedLine, LineResult } from './line-store.ts'

/** What became of the call of a line. */
export type LineEnd =
  | { readonly kind: 'ended'; readonly result: LineResult }
  /** Called again after the wait. `isTry`: a failure that counts. */
  | { readonly kind: 'later'; readonly waitMs: number; readonly isTry: boolean }
  /** A budget or a freeze stops the call: all lines of the batch wait. */
  | { readonly kind: 'waiting'; readonly reason: string }
  /** The key of the batch was revoked, has expired or may only read. */
  | { readonly kind: 'keyless' }

/** Keys of batches. */
export interface LineKeys {
  workerById(id: string): Caller | undefined | Promise<Caller | undefined>
}

interface Deps {
  /** Calls by kind: those of the Responses format can continue from stored responses. */
  readonly gatewayOf: (kind: Call['kind']) => Pick<Gateway, 'call'>
  readonly keys: LineKeys
  /** Failed calls after which a line ends with the error. */
  readonly maxTries: number
  /** Wait after the given number of failed calls. */
  readonly retryMs: (tries: number) => number
}

/** Answer of a provider's batch API, and the id of the request that it belongs to. */
export interface GivenAnswer {
  readonly requestId: string
  readonly batchAnswer: BatchAnswer
}

/** Calls a line, or settles it with an answer that its provider gave. */
export type CallLine = (line: ClaimedLine, signal: AbortSignal, given?: GivenAnswer) => Promise<LineEnd>

interface CallFields extends Pick<Call, 'caller' | 'requestId' | 'signal' | 'stop'> {
  readonly batchAnswer?: BatchAnswer | undefined
}

/** Returns the call of a line. */
export const callOf = (line: ClaimedLine, { batchAnswer, ...fields }: CallFields): Call => ({
  kind: line.kind,
  body: Buffer.from(line.request),
  headers: { ...line.headers, 'content-type': 'application/json' },
  query: '',
  batchId: line.batch_id,
  ...fields,
  ...(batchAnswer && { batchAnswer }),
})

/** Returns who pays for a line; undefined when its key may make no more calls. */
export async function payerOf(
  { key_id, principal }: Pick<ClaimedLine, 'key_id' | 'principal'>,
  keys: LineKeys,
): Promise<Call['caller'] | undefined> {
  if (key_id === null) return { principal, key: undefined }
  const key = (await keys.workerById(key_id))?.key
  return key && { principal, key }
}

/** Returns who pays for an answer that exists although its key may make no more calls. */
function payerOfAnswer({ key_id, principal }: ClaimedLine): Call['caller'] {
  const key = key_id === null ? undefined : { id: key_id, models: [], isLimited: true, isNarrow: true, expires: true }
  return { principal, key }
}

const maxAnswerBytes = 32 * 1024 * 1024
/** Wait for room in a rate limit, or of a server under load. */
const roomMs = 2_000
const maxRoomMs = 60_000

/** Creates the function that makes the call of a line: through the gateway, on the key of the batch, like that of a client. */
export function createCallLine({ gatewayOf, keys, maxTries, retryMs }: Deps): CallLine {
  const failed = (line: ClaimedLine, result: LineResult, waitMs: number | undefined): LineEnd =>
    line.tries + 1 >= maxTries
      ? { kind: 'ended', result }
      : { kind: 'later', isTry: true, waitMs: Math.max(retryMs(line.tries + 1), waitMs ?? 0) }

  function thrownEnd(line: ClaimedLine, error: AppError, requestId: string): LineEnd {
    const { code, message, headers } = error
    if (code === 'unauthorized') return { kind: 'keyless' }
    if (code === 'budget_exceeded') return { kind: 'waiting', reason: message }
    const ownMs = ownWaitMs(error)
    if (ownMs !== undefined) return { kind: 'later', isTry: false, waitMs: ownMs }
    const result: LineResult = {
      type: 'errored',
      status: statusOfCode(code),
      request_id: requestId,
      result: errorBody(line.format, code, message, requestId),
    }
    // An address that is not allowed needs a change by the operator.
    const isFinal = error.cause instanceof OutboundBlocked || headers['x-should-retry'] === 'false'
    return isPassing(statusOfCode(code)) && !isFinal
      ? failed(line, result, retryAfterMs(headers))
      : { kind: 'ended', result }
  }

  function answeredEnd(line: ClaimedLine, answer: Answer, requestId: string): LineEnd {
    const { status, body, headers } = answer
    const isJson = jsonOr(body, undefined) !== undefined
    if (status < 400 && isJson) {
      const result = { type: 'succeeded', status, request_id: requestId, result: onOneLine(body) } as const
      return { kind: 'ended', result }
    }
    const unreadable = 'the provider answered with a body that is not valid JSON'
    const result: LineResult = {
      type: 'errored',
      status: status < 400 ? statusOfCode('upstream_unreachable') : status,
      request_id: requestId,
      result: isJson ? onOneLine(body) : errorBody(line.format, 'upstream_unreachable', unreadable, requestId),
    }
    const isWorthRetrying = status < 400 || isPassing(status)
    return isWorthRetrying ? failed(line, result, retryAfterMs(headers)) : { kind: 'ended', result }
  }

  async function made(line: ClaimedLine, call: Call, isStopped: () => boolean): Promise<LineEnd> {
    const answer = collectingSink()
    const { outcome } = await gatewayOf(line.kind).call(call, answer.sink)
    if (isStopped()) return { kind: 'ended', result: stoppedResult(line, call.requestId) }
    return outcome === 'aborted' ? again : answeredEnd(line, answer.answer(), call.requestId)
  }

  return async (line, signal, given) => {
    const stopping = stoppingWith(signal)
    const { requestId = newId('req'), batchAnswer } = given ?? {}
    try {
      const caller = (await payerOf(line, keys)) ?? (batchAnswer && payerOfAnswer(line))
      if (!caller) return { kind: 'keyless' }
      const fields = { caller, requestId, batchAnswer, signal: stopping.signal, stop: stopping.stop }
      return await made(line, callOf(line, fields), stopping.isRequested)
    } catch (error) {
      if (signal.aborted) return again
      if (error instanceof AppError) return thrownEnd(line, error, requestId)
      throw error
    } finally {
      stopping.end()
    }
  }
}

/** For calls that ended with their process. */
const again: LineEnd = { kind: 'later', isTry: false, waitMs: 0 }

/** Stops a call with its process, or on request. */
function stoppingWith(signal: AbortSignal) {
  const stopping = new AbortController()
  const abort = () => stopping.abort()
  let isRequested = false
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  return {
    signal: stopping.signal,
    stop() {
      isRequested = true
      abort()
    },
    isRequested: () => isRequested,
    end: () => signal.removeEventListener('abort', abort),
  }
}

const ownLimits: ReadonlySet<AppError['code']> = new Set(['rate_limited', 'overloaded', 'unavailable'])

/** Returns the wait after a call that a limit of the key or of this service rejected; undefined for any other error. */
export const ownWaitMs = ({ code, headers }: AppError): number | undefined =>
  ownLimits.has(code) ? Math.min(retryAfterMs(headers) ?? roomMs, maxRoomMs) : undefined

const isPassing = (status: number): boolean => status === 408 || status === 409 || status === 429 || status >= 500

const stoppedResult = ({ format }: ClaimedLine, requestId: string): LineResult => ({
  type: 'errored',
  status: statusOfCode('forbidden'),
  request_id: requestId,
  result: errorBody(format, 'forbidden', 'the call was stopped on request', requestId),
})

/** Line breaks of valid JSON are white space. */
const onOneLine = (json: string): string => (/[\r\n]/.test(json) ? json.replaceAll(/[\r\n]+/g, ' ') : json)

/** Returns the wait that `retry-after` requests in seconds. */
function retryAfterMs({ 'retry-after': value = '' }: Readonly<Record<string, string>>): number | undefined {
  return /^\d{1,6}$/.test(value) ? Number(value) * 1_000 : undefined
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

function collectingSink() {
  const chunks: Buffer[] = []
  let bytes = 0
  let head: Omit<Answer, 'body'> = { status: 0, headers: {} }
  const take = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes <= maxAnswerBytes) chunks.push(chunk)
  }
  const sink: Sink = {
    head(status, headers) {
      head = { status, headers }
    },
    data(chunk) {
      take(chunk)
      return true
    },
    onDrain: resume => resume(),
    end: chunk => void (chunk && take(chunk)),
  }
  // A longer answer is incomplete, so it is not valid JSON.
  return { sink, answer: (): Answer => ({ ...head, body: Buffer.concat(chunks).toString('utf8') }) }
}
