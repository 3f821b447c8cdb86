import { statusOfCode } from '../../../contract/error-codes.ts'
import { coversModel } from '../../../contract/keys.ts'
import type { NativeProvider } from '../../../contract/native.ts'
import type { Method } from '../../../contract/route.ts'
import type { Budgets, Reservation } from '../../budgets/budgets.ts'
import type { Protocol } from '../../config/protocols.ts'
import type { Freezes } from '../../controls/freezes.ts'
import { AppError } from '../../platform/errors.ts'
import type { Usage } from '../../usage/usage.ts'
import { frozenPayersOf, lostRow, nativeRow, payersOf } from '../core/booking.ts'
import type { Attempt, Call, CallKind, Outcome, Sink, UpstreamError } from '../core/call.ts'
import { rateLimitHeaders, withOwnLimits } from '../core/rate-limit-headers.ts'
import { ByteStream } from '../endpoints/byte-stream.ts'
import type { Gateway, NativePlace } from '../gateway.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { type AnswerReader, Exchange } from '../upstream/exchange.ts'
import { forwardedQuery, nativeHeaders, nativeResponseHeaders } from '../upstream/headers.ts'
import { nativeLocation, nativePath } from '../upstream/paths.ts'
import { scrubbed } from '../upstream/scrub.ts'
import type { Send } from '../upstream/send.ts'

/** By provider: the format in which its clients read errors and limits, and the protocol that its credential is for. */
const providers: Readonly<Record<NativeProvider, { readonly kind: CallKind; readonly protocol: Protocol }>> = {
  anthropic: { kind: 'messages', protocol: 'anthropic-messages' },
  openai: { kind: 'chat', protocol: 'openai-chat' },
  gemini: { kind: 'gemini', protocol: 'gemini' },
  bedrock: { kind: 'converse', protocol: 'bedrock-converse' },
}

export const kindOfProvider = (provider: NativeProvider): CallKind => providers[provider].kind

/** A request to a provider's own API. */
export interface NativeRequest {
  readonly provider: NativeProvider
  readonly method: Method
  /** Path after the provider's name as the client sent it, validated, without the query. */
  readonly path: string
  /** Null when the request has no body. */
  readonly body: Buffer | AsyncIterable<Buffer> | null
}

/** Relays requests to providers' own APIs. Rejects with AppError only before it writes to the sink. */
export interface Native {
  /** Returns where to send the request. Throws AppError `not_found` or `forbidden`. */
  admit(caller: Call['caller'], request: Omit<NativeRequest, 'body'>): NativePlace
  relay(place: NativePlace, request: NativeRequest, call: Call, sink: Sink): Promise<Outcome>
}

interface Deps {
  readonly gateway: Pick<Gateway, 'nativeOf' | 'enter'>
  readonly send: Send
  readonly usage: Pick<Usage, 'book' | 'room'>
  readonly budgets: Pick<Budgets, 'isLimited' | 'reserve'>
  readonly freezes: Pick<Freezes, 'isAny' | 'rejection'>
}

export function createNative({ gateway, send, usage, budgets, freezes }: Deps): Native {
  const reserve = async (attempt: Attempt, method: Method, place: NativePlace): Promise<Reservation | undefined> => {
    const { call, parsed } = attempt
    const payers = payersOf(call)
    if (!payers || !(call.caller.key?.isLimited || (await budgets.isLimited(payers)))) return undefined
    const isFree = isReading(method) || place.unknownPrices === 'allow'
    return budgets.reserve({
      requestId: call.requestId,
      payers,
      amountUsd: isFree ? '0' : null,
      tokens: isFree ? 0 : null,
      ...(!isFree && { unknown: 'native' }),
      model: parsed.model,
      isReserved: true,
      principal: call.caller.principal,
      orphanRow: () => lostRow(call, parsed, '0'),
    })
  }

  const rejectFrozen = (call: Call, method: Method): void => {
    const rejection = freezes.isAny && !isReading(method) ? freezes.rejection(frozenPayersOf(call)) : undefined
    if (rejection) throw rejection
  }

  const exchanged = (attempt: Attempt, { provider, method, path, body }: NativeRequest, sink: Sink) => {
    const { call, target } = attempt
    const exchange = new Exchange({ attempt, sink, reader: readerFor(attempt, provider, sink) })
    const whole = `${nativePath(target, path)}${forwardedQuery(call.query)}`
    return send({ attempt, exchange, method, path: whole, headers: nativeHeaders(call), body })
  }

  return {
    admit({ key }, request) {
      const { provider, method, path } = request
      const place = gateway.nativeOf(provider)
      if (!place)
        throw new AppError('not_found', `provider ${provider} is not configured; store its credential, or add a model`)
      if (key && !key.passthrough?.includes(provider))
        throw new AppError(
          'forbidden',
          `passthrough of this key does not name ${provider}, which ${method} /${provider}${path.slice(0, 200)} needs; ` +
            'an admin can add it with PATCH /api/keys/{key_id}',
        )
      const model = modelOfBedrock(request)
      if (key && model !== undefined && !coversModel(key.models, model))
        throw new AppError('forbidden', `this key may not use model ${model.slice(0, 200)}`)
      if (place.unknownPrices === 'refuse' && !isReading(method))
        throw new AppError(
          'forbidden',
          `the price of ${method} /${provider}${path.slice(0, 200)} is unknown, and prices.unknown is refuse`,
        )
      return place
    },

    async relay(place, request, call, given) {
      const { provider, method } = request
      const own: Record<string, string> = { 'x-switchyard-request-id': call.requestId }
      const attempt = attemptAt(place, { request, call, own })
      let leave = () => {}
      let reservation: Reservation | undefined
      const book = (outcome: Outcome): Outcome => {
        const row = nativeRow(attempt, { outcome, reservation, costUsd: isReading(method) ? '0' : undefined })
        usage.book(row)
        reservation?.settled(row)
        return outcome
      }
      try {
        rejectFrozen(call, method)
        await usage.room()
        leave = gateway.enter({ isStream: true, isOfSession: false })
        reservation = await reserve(attempt, method, place)
        const limits = reservation?.rateLimits && rateLimitHeaders(kindOfProvider(provider), reservation.rateLimits)
        const warning = reservation?.warning
        Object.assign(own, limits, warning !== undefined && { 'x-switchyard-budget-warning': warning })
        const sink = limits ? withOwnLimits(given, limits) : given
        const ending = await exchanged(attempt, request, sink).catch((error: unknown) => {
          if (error instanceof AppError) book({ ...unsentOutcome, status: statusOfCode(error.code) })
          throw error
        })
        return book(ending.outcome === 'refused' ? passOn(ending, sink) : ending)
      } catch (error) {
        throw error instanceof AppError ? error.with({ ...own, 'x-switchyard-error-source': 'gateway' }) : error
      } finally {
        leave()
        reservation?.release()
      }
    },
  }
}

/** Reports whether a request is free at the provider: it only reads or deletes. */
const isReading = (method: Method): boolean => method === 'GET' || method === 'DELETE'

/** Returns the gateway's name for the model in a Bedrock path. */
function modelOfBedrock({ provider, path }: Pick<NativeRequest, 'provider' | 'path'>): string | undefined {
  if (provider !== 'bedrock') return undefined
  const [, first, model] = path.split('/').map(decodeURIComponent)
  return first === 'model' && model !== undefined ? `bedrock/${model}` : undefined
}

interface Made {
  readonly request: NativeRequest
  readonly call: Call
  readonly own: Readonly<Record<string, string>>
}

/** The ledger shows the provider as the model, and method and path as the upstream model. */
const attemptAt = ({ deployment }: NativePlace, { request, call, own }: Made): Attempt => ({
  call,
  parsed: { model: `${request.provider}/*`, modelSpan: { start: 0, end: 0 }, stream: true, maxTokens: 0 },
  target: {
    deployment,
    upstreamModel: `${request.method} ${request.path}`,
    protocol: providers[request.provider].protocol,
  },
  ownHeaders: own,
  startedMs: performance.now(),
})

function readerFor(attempt: Attempt, provider: NativeProvider, sink: Sink): AnswerReader {
  const counts = () => ({ usage: noTokens, stopReason: undefined })
  return {
    relays: nativeResponseHeaders,
    acceptsNotModified: true,
    isStream: () => true,
    stream(head) {
      for (const name of ['location', 'content-location']) {
        const named = head.headers[name]
        if (named !== undefined) head.headers[name] = nativeLocation(attempt.target, named, `/${provider}`)
      }
      return new ByteStream({ attempt, sink, head, counts })
    },
    whole: ({ headers }, body) => ({ headers, body, counts }),
    upstreamError: ({ status, headers }, body) => ({
      outcome: 'refused',
      status,
      headers,
      body: scrubbed(body, attempt.target.deployment),
    }),
  }
}

const unsentOutcome: Outcome = {
  outcome: 'failed',
  status: undefined,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
}

function passOn({ status, headers, body }: UpstreamError, sink: Sink): Outcome {
  sink.head(status, { ...headers, 'content-length': String(body.length), 'x-switchyard-error-source': 'upstream' })
  sink.end(body)
  return { ...unsentOutcome, status }
}
