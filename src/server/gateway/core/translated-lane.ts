import { newId } from '../../platform/ids.ts'
import { jsonOr } from '../../platform/json.ts'
import { Encoder } from '../formats/anthropic/encoder.ts'
import { verdictOf } from '../routing/retryable.ts'
import { answerEstimate } from '../tokens/count-tokens.ts'
import { estimateInputTokens } from '../tokens/estimate.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { type AnswerReader, Exchange } from '../upstream/exchange.ts'
import { ownHeaders } from '../upstream/headers.ts'
import type { Send } from '../upstream/send.ts'
import type { Attempt, Lane } from './call.ts'
import type { CallSignatures, Codec, CodecContext, UpstreamRequest } from './codec.ts'
import { type Degradation, withDegradedHeader } from './degradations.ts'
import { normalRequest } from './normal-request.ts'
import type { ReasoningSeals } from './reasoning-seal.ts'
import { parsedObject } from './request.ts'
import { restoringNames } from './tool-names.ts'
import { createTranslatedReader } from './translated-reader.ts'

interface Options {
  readonly codec: Codec
  readonly send: Send
  readonly seals: ReasoningSeals
  readonly callSignatures: CallSignatures
  readonly pingAfterMs: number
  readonly holdBackMs: number
  /** Called with what the encoder had to mend. */
  readonly onRepair: (what: string, deployment: string) => void
}

/** The lane of upstreams with another protocol than the call's, which is Anthropic's. Source: Gateway, section 2.2. */
export function createTranslatedLane(options: Options): Lane {
  const { codec: given, send } = options

  /** A call to the provider's counter. When no other try would help either, a guess stands in. */
  const count = async (attempt: Attempt, sink: Parameters<Lane>[1], request: UpstreamRequest) => {
    const exchange = new Exchange({ attempt, sink, reader: createCountReader(given) })
    const result = await send(sending(attempt, exchange, request))
    return result.outcome === 'refused' && verdictOf(result) === 'final' ? answerEstimate(attempt, sink) : result
  }

  return async (attempt, sink) => {
    const { call, target } = attempt
    const { request, names, degraded: changed } = normalRequest(parsedObject(call.body), target)
    const context = contextOf(attempt, options)
    if (call.kind === 'count_tokens') {
      if (!given.counting) return answerEstimate(attempt, sink)
      return count(attempt, sink, given.counting.request(request, context))
    }
    const codec = restoringNames(given, names)
    const upstream = codec.request(request, context)
    const degraded: Degradation[] = [...changed, ...upstream.degraded]
    const shown = withDegradedHeader(attempt, degraded)
    const reader = createTranslatedReader({
      ...options,
      codec,
      attempt: shown,
      sink,
      context,
      degraded,
      createEncoder: out =>
        new Encoder({
          messageId: newId('msg'),
          model: target.upstreamModel,
          guessInputTokens: () => estimateInputTokens(request),
          out,
          onRepair: what => options.onRepair(what, target.deployment.id),
        }),
    })
    return send(sending(attempt, new Exchange({ attempt: shown, sink, reader }), upstream))
  }
}

const contextOf = ({ call, ask, target }: Attempt, { seals, callSignatures }: Options): CodecContext => ({
  deployment: target.deployment,
  upstreamModel: target.upstreamModel,
  stream: ask.stream,
  requestId: call.requestId,
  reasoning: seals({ provider: target.deployment.provider, model: target.upstreamModel }),
  callSignatures,
})

const sending = (attempt: Attempt, exchange: Exchange, { path, headers, body }: UpstreamRequest) => ({
  attempt,
  exchange,
  path,
  headers: { ...ownHeaders, ...headers },
  body: Buffer.from(JSON.stringify(body)),
})

/** Reads the answer of a provider's own token counter. What holds no count is a refusal: a guess may stand in. */
const createCountReader = ({ counting }: Pick<Codec, 'counting'>): AnswerReader => ({
  isStream: () => false,
  whole(head, body) {
    const count = counting?.answer(jsonOr(body.toString(), undefined))
    if (count === undefined) return { outcome: 'refused', ...head, status: 501, body }
    return {
      headers: { ...head.headers, 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ input_tokens: count })),
      counts: () => ({ usage: noTokens, stopReason: undefined }),
    }
  },
  refusal: (head, body) => ({ outcome: 'refused', ...head, body }),
  stream: () => {
    throw new Error('a count is never streamed')
  },
})
