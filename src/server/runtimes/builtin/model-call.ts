import { statusOfCode } from '../../../contract/error-codes.ts'
import type { BudgetReached } from '../../../contract/events.ts'
import { sseReader } from '../../../contract/sse.ts'
import type { Call, Outcome, Sink } from '../../gateway/core/call.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { AppError, DatabaseUnavailable } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { listOf, recordOf } from '../../platform/json.ts'
import { OutboundBlocked } from '../../platform/outbound.ts'
import { exceededBudget } from '../endings.ts'
import type { Payer, RunPrompt, RunSession } from '../runtime.ts'
import { type Answer, collectAnswer } from './answer.ts'

interface ModelRequest {
  readonly session: Pick<RunSession, 'id' | 'agent_id' | 'owner_id' | 'config'>
  readonly prompt: Pick<RunPrompt, 'id'>
  readonly runId: string
  readonly payer: Payer
  /** A Messages API body. */
  readonly body: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal
  readonly onText: (index: number, text: string) => void
}

/** Why a model call returned no complete answer. `type` is one of the Managed Agents error types. */
export interface ModelFailure {
  readonly type: string
  readonly message: string
  /** True when the request exceeds the model's context window. */
  readonly isTooLong?: boolean
  /** True when the same request may succeed later. A truncated answer is not stored, so the request can be repeated. */
  readonly isPassing: boolean
  /** Requested wait before a retry; undefined when there was none. */
  readonly retryAfterMs?: number | undefined
}

export type ModelResult =
  | { readonly answer: Answer }
  /** The signal aborted: the answer so far, with the tokens that the gateway counted. */
  | { readonly partial: Answer; readonly usage: Partial<Outcome['usage']> }
  | { readonly failure: ModelFailure }
  | { readonly budget: BudgetReached; readonly message: string }

/** Calls a model through our own gateway, in process, with the same aliases, limits and ledger as for any client. */
export async function callModel(gateway: Pick<Gateway, 'call'>, request: ModelRequest): Promise<ModelResult> {
  const { session, prompt, runId, payer, signal } = request
  const collected = collectAnswer(request.onText)
  const sink = answerSink(collected.frame)
  const call: Call = {
    kind: 'messages',
    body: Buffer.from(JSON.stringify({ ...request.body, stream: true })),
    headers: fallbackHeader(session),
    query: '',
    requestId: newId('req'),
    caller: payer,
    session: {
      session_id: session.id,
      agent_id: session.agent_id,
      owner_id: session.owner_id,
      prompt_id: prompt.id,
      run_id: runId,
    },
    signal,
  }
  let outcome: Outcome
  try {
    outcome = await gateway.call(call, sink)
  } catch (error) {
    if (signal.aborted) return { partial: collected.result(), usage: {} }
    if (error instanceof AppError && !(error instanceof DatabaseUnavailable)) return rejectedByGateway(error)
    throw error
  }
  if (signal.aborted) return { partial: collected.result(), usage: outcome.usage }
  if (sink.status() >= 400) {
    return { failure: { ...upstreamFailure(sink.errorResponse()), isTooLong: outcome.reason === 'context_window' } }
  }
  const answer = collected.result()
  if (answer.error) return { failure: streamFailure(answer.error) }
  if (sink.problem() !== undefined || !answer.isComplete) {
    const message = sink.problem() ?? 'the answer of the model was truncated'
    return { failure: { type: 'model_request_failed_error', message, isPassing: true } }
  }
  return { answer }
}

/** Returns the header with the fallback models of the agent's settings. */
function fallbackHeader({ config }: ModelRequest['session']): Record<string, string> {
  const names = listOf(recordOf(config['model_settings'])['fallbacks']).filter(name => typeof name === 'string')
  return names.length === 0 ? {} : { 'x-switchyard-fallbacks': names.join(', ') }
}

const maxErrorLength = 64 * 1024

/** Creates a sink that reads the stream frame by frame. The body of an error response is kept as text. */
function answerSink(onFrame: ReturnType<typeof collectAnswer>['frame']) {
  const decoder = new TextDecoder()
  const read = sseReader()
  let status = 0
  let retryAfterMs: number | undefined
  let errorBody = ''
  let problem: string | undefined

  const take = (chunk: Buffer): void => {
    const text = decoder.decode(chunk, { stream: true })
    if (status >= 400) {
      if (errorBody.length < maxErrorLength) errorBody += text
      return
    }
    try {
      if (problem === undefined) for (const frame of read(text)) onFrame(frame)
    } catch {
      problem = 'the stream of the model is malformed'
    }
  }
  const sink: Sink = {
    head: (code, headers) => {
      status = code
      retryAfterMs = retryAfterMsOf(headers)
    },
    data: chunk => {
      take(chunk)
      return true
    },
    onDrain: resume => resume(),
    end: chunk => {
      if (chunk) take(chunk)
    },
  }
  return {
    ...sink,
    status: () => status,
    errorResponse: () => ({ status, body: errorBody, retryAfterMs }),
    problem: () => problem,
  }
}

/** Returns the wait that `retry-after` requests, in seconds or as a date. */
function retryAfterMsOf({ 'retry-after': value = '' }: Readonly<Record<string, string>>): number | undefined {
  if (/^\d{1,9}(\.\d+)?$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now())
}

const isPassingStatus = (status: number): boolean => status === 429 || status >= 500

const statusTypes: Readonly<Record<number, string>> = {
  402: 'billing_error',
  429: 'model_rate_limited_error',
  503: 'model_overloaded_error',
  529: 'model_overloaded_error',
}

/** Converts a rejection of the gateway. An exhausted budget is not a failure: the run continues once it has room. */
function rejectedByGateway(error: AppError): ModelResult {
  const budget = exceededBudget(error)
  if (budget) return { budget, message: error.message }
  // An address that is not allowed needs a change by the operator.
  const isFinal = error.cause instanceof OutboundBlocked || error.headers['x-should-retry'] === 'false'
  const isPassing = isPassingStatus(statusOfCode(error.code)) && !isFinal
  return { failure: { ...failureOf(error), isPassing, retryAfterMs: retryAfterMsOf(error.headers) } }
}

function failureOf({ code, message }: AppError): { type: string; message: string } {
  const types: Partial<Record<AppError['code'], string>> = {
    budget_exceeded: 'billing_error',
    rate_limited: 'model_rate_limited_error',
    overloaded: 'model_overloaded_error',
    unavailable: 'model_overloaded_error',
  }
  return { type: types[code] ?? 'model_request_failed_error', message }
}

const typesOfErrors: Readonly<Record<string, string>> = {
  overloaded_error: 'model_overloaded_error',
  rate_limit_error: 'model_rate_limited_error',
  billing_error: 'billing_error',
}

/** Errors inside a stream that correspond to a 4xx other than 429. */
const finalErrors: ReadonlySet<string> = new Set([
  'invalid_request_error',
  'authentication_error',
  'billing_error',
  'permission_error',
  'not_found_error',
  'request_too_large',
])

const streamFailure = ({ type, message }: NonNullable<Answer['error']>): ModelFailure => ({
  type: typesOfErrors[type] ?? 'model_request_failed_error',
  message,
  isPassing: !finalErrors.has(type),
})

interface ErrorResponse {
  readonly status: number
  readonly body: string
  readonly retryAfterMs: number | undefined
}

/** Converts an error response of the provider, with its message cut to 500 characters. */
function upstreamFailure({ status, body, retryAfterMs }: ErrorResponse): ModelFailure {
  const message = messageOf(body).slice(0, 500)
  return {
    type: statusTypes[status] ?? 'model_request_failed_error',
    message: `the model rejected the request (${status})${message === '' ? '' : `: ${message}`}`,
    isPassing: isPassingStatus(status),
    retryAfterMs,
  }
}

function messageOf(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: { message?: unknown } }
    return typeof error?.message === 'string' ? error.message : ''
  } catch {
    return ''
  }
}
