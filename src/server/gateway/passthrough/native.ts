import { statusOfCode } from '../../../contract/errors.ts'
import { coversModel } from '../../../contract/keys.ts'
import type { NativeProvider } from '../../../contract/native.ts'
import type { Method } from '../../../contract/route.ts'
import type { Budgets, Hold } from '../../budgets/budgets.ts'
import type { Protocol } from '../../config/config.ts'
import type { Freezes } from '../../controls/freezes.ts'
import { AppError } from '../../platform/errors.ts'
import type { Usage } from '../../usage/usage.ts'
import { frozenPayersOf, lostRow, nativeRow, payersOf } from '../core/booking.ts'
import type { Attempt, Call, CallKind, Outcome, Refusal, Sink } from '../core/call.ts'
import { rateLimitHeaders, withOwnLimits } from '../core/rate-limit-headers.ts'
import { ByteStream } from '../endpoints/byte-stream.ts'
import type { Gateway, NativePlace } from '../gateway.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { type AnswerReader, Exchange } from '../upstream/exchange.ts'
import { answeredNatively, nativeHeaders } from '../upstream/headers.ts'
import { nativeLocation, nativePath } from '../upstream/paths.ts'
import { scrubbed } from '../upstream/scrub.ts'
import type { Send } from '../upstream/send.ts'

/** The formats that a provider's clients read errors and limits in, and the protocol that its credential goes with. */
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
  /** As the client sent it, behind the provider's name; checked, without its query. */
  readonly path: string
  /** Null: none. */
  readonly body: Buffer | AsyncIterable<Buffer> | null
}

/** Relays requests to providers' own APIs. Rejects with AppError only while the sink is untouched. */
export interface Native {
  /** Where the request may go. Throws what the caller should know when it may not. */
  admit(caller: Call['caller'], request: Omit<NativeRequest, 'body'>): NativePlace
  relay(place: NativePlace, request: NativeRequest, call: Call, sink: Sink): Promise<Outcome>
}

interface Deps {
  readonly gateway: Pick<Gateway, 'nativeOf' | 'enter'>
  readonly send: Send
  readonly usage: Pick<Usage, 'book' | 'room'>
  readonly budgets: Pick<Budgets, 'isLimited' | 'hold'>
  readonly freezes: Pick<Freezes, 'isAny' | 'refusal'>
}

export function createNative({ gateway, send, usage, budgets, freezes }: Deps): Native {
  const hold = async (attempt: Attempt, method: Method, place: NativePlace): Promise<Hold | undefined> => {
    const { call, ask } = attempt
    const payers = payersOf(call)
    if (!payers || !(call.caller.key?.isLimited || (await budgets.isLimited(payers)))) return undefined
    const isFree = isReading(method) || place.unknownPrices === 'allow'
    return budgets.hold({
      requestId: call.requestId,
      payers,
      amountUsd: isFree ? '0' : null,
      tokens: isFree ? 0 : null,
      ...(!isFree && { unknown: 'native' }),
      model: ask.model,
      isHeld: true,
      principal: call.caller.principal,
      lost: () => lostRow(call, ask, '0'),
    })
  }

  const refuseFrozen = (call: Call, method: Method): void => {
    const refusal = freezes.isAny && !isReading(method) ? freezes.refusal(frozenPayersOf(call)) : undefined
    if (refusal) throw refusal
  }

  const exchanged = (attempt: Attempt, { provider, method, path, body }: NativeRequest, sink: Sink) => {
    const { call, target } = attempt
    const exchange = new Exchange({ attempt, sink, reader: readerFor(attempt, provider, sink) })
    const whole = `${nativePath(target, path)}${queryWithoutKey(call.query)}`
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
          `what ${method} /${provider}${path.slice(0, 200)} costs is not known, and the gateway is set to refuse such calls`,
        )
      return place
    },

    async relay(place, request, call, given) {
      const { provider, method } = request
      const own: Record<string, string> = { 'x-switchyard-request-id': call.requestId }
      const attempt = attemptAt(place, { request, call, own })
      let leave = () => {}
      let held: Hold | undefined
      const book = (outcome: Outcome): Outcome => {
        const row = nativeRow(attempt, { outcome, hold: held, costUsd: isReading(method) ? '0' : undefined })
        usage.book(row)
        held?.settled(row)
        return outcome
      }
      try {
        refuseFrozen(call, method)
        await usage.room()
        leave = gateway.enter({ isStream: true, isOfSession: false })
        held = await hold(attempt, method, place)
        const limits = held?.rateLimits && rateLimitHeaders(kindOfProvider(provider), held.rateLimits)
        Object.assign(own, limits, held?.warning !== undefined && { 'x-switchyard-budget-warning': held.warning })
        const sink = limits ? withOwnLimits(given, limits) : given
        const ending = await exchanged(attempt, request, sink).catch((error: unknown) => {
          if (error instanceof AppError) book({ ...nothingSent, status: statusOfCode(error.code) })
          throw error
        })
        return book(ending.outcome === 'refused' ? passOn(ending, sink) : ending)
      } catch (error) {
        throw error instanceof AppError ? error.with({ ...own, 'x-switchyard-error-source': 'gateway' }) : error
      } finally {
        leave()
        held?.release()
      }
    },
  }
}

/** True for requests that providers take no money for: they read or remove what is there. */
const isReading = (method: Method): boolean => method === 'GET' || method === 'DELETE'

/** The model that a path of Bedrock names, as the gateway names it. */
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

/** In the ledger the provider stands for the model, and what was asked of it for the model's name there. */
const attemptAt = ({ deployment }: NativePlace, { request, call, own }: Made): Attempt => ({
  call,
  ask: { model: `${request.provider}/*`, modelSpan: { start: 0, end: 0 }, stream: true, maxTokens: 0 },
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
    relays: answeredNatively,
    takesUnmodified: true,
    isStream: () => true,
    stream(head) {
      for (const name of ['location', 'content-location']) {
        const named = head.headers[name]
        if (named !== undefined) head.headers[name] = nativeLocation(attempt.target, named, `/${provider}`)
      }
      return new ByteStream({ attempt, sink, head, counts })
    },
    whole: ({ headers }, body) => ({ headers, body, counts }),
    refusal: ({ status, headers }, body) => ({
      outcome: 'refused',
      status,
      headers,
      body: scrubbed(body, attempt.target.deployment),
    }),
  }
}

const nothingSent: Outcome = {
  outcome: 'failed',
  status: undefined,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
}

function passOn({ status, headers, body }: Refusal, sink: Sink): Outcome {
  sink.head(status, { ...headers, 'content-length': String(body.length), 'x-switchyard-error-source': 'upstream' })
  sink.end(body)
  return { ...nothingSent, status }
}

/** The query as it came, without parameters that hold a key of ours, however their names are written. */
function queryWithoutKey(query: string): string {
  const kept = query
    .slice(1)
    .split('&')
    .filter(part => part !== '' && ![...new URLSearchParams(part).keys()].some(name => /^(key|ticket)$/i.test(name)))
  return kept.length === 0 ? '' : `?${kept.join('&')}`
}
