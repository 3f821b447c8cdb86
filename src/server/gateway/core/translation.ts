import { newId } from '../../platform/ids.ts'
import { type Json, jsonOr } from '../../platform/json.ts'
import { joined, type Parts } from '../bytes/body-edit.ts'
import { type ExtractedTexts, extractLongTexts } from '../bytes/long-texts.ts'
import { verdictOf } from '../routing/retryable.ts'
import { answerCount } from '../tokens/count-tokens.ts'
import { estimateInputTokens, estimateTokens, inputEstimate } from '../tokens/estimate.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { withoutAccount } from '../upstream/bedrock.ts'
import { type AnswerReader, Exchange } from '../upstream/exchange.ts'
import { ownHeaders, traceOf } from '../upstream/headers.ts'
import type { Send } from '../upstream/send.ts'
import type { Attempt, FormatAdapter } from './call.ts'
import { type ClientFormat, type CountFormat, clientContext, type ProblemWriter } from './client-format.ts'
import type { CallSignatures, Codec, CodecContext, UpstreamRequest } from './codec.ts'
import { type Degradation, inOwnNames, withDegradedHeader } from './degradations.ts'
import { normalRequest } from './normal-request.ts'
import type { ReasoningSigners } from './reasoning-signers.ts'
import { parsedObject } from './request-checks.ts'
import { Sequencer } from './sequencer.ts'
import { restoredName } from './tool-names.ts'
import { createTranslatedReader } from './translated-reader.ts'
import { upstreamErrorOf } from './translated-stream.ts'

/** What codecs need besides the request. */
interface CodecNeeds {
  readonly signers: ReasoningSigners
  readonly callSignatures: CallSignatures
}

interface Options extends CodecNeeds {
  readonly client: ClientFormat
  readonly codec: Codec
  readonly send: Send
  readonly pingAfterMs: number
  readonly bufferMs: number
  /** Called when the sequencer repaired an event. */
  readonly onRepair: (what: string, deployment: string) => void
}

/**
 * Creates the adapter for calls whose upstream has another format than the client. Parses the body again for each
 * attempt, since targets support different features. Decision 0012.
 */
export function createTranslation(options: Options): FormatAdapter {
  const { client, codec, send } = options
  return async (attempt, sink) => {
    const { call, parsed, target } = attempt
    const extracted = extractLongTexts(call.body, parsed.members)
    const given = parsedObject(extracted?.text ?? call.body)
    const { body, writer, degraded: unread, ownNames } = client(given, clientContext(attempt))
    const { request, names, degraded: changed } = normalRequest(body, target, ownNames)
    const context = contextOf(attempt, options)
    const upstream = codec.request(request, context)
    const degraded: Degradation[] = [...unread, ...changed, ...inOwnNames(upstream.degraded, ownNames, request)]
    const shown = withDegradedHeader(attempt, degraded)
    const guess = inputEstimate(request, estimateTokens(extracted?.bytes ?? 0))
    const reader = createTranslatedReader({
      ...options,
      attempt: shown,
      sink,
      context,
      writer,
      degraded,
      createSequencer: out =>
        new Sequencer({
          messageId: newId('msg'),
          model: withoutAccount(target.upstreamModel),
          guess,
          out: names.size === 0 ? out : event => out(restoredName(event, names)),
          onRepair: what => options.onRepair(what, target.deployment.id),
        }),
    })
    return send(sending(attempt, new Exchange({ attempt: shown, sink, reader }), upstream, extracted))
  }
}

interface CountOptions extends CodecNeeds {
  readonly client: CountFormat
  /** Absent for an upstream without token counting. */
  readonly codec?: Pick<Codec, 'counting' | 'problem'>
  readonly send: Send
}

/** Creates the adapter for token counts at upstreams with another format. Estimates when a retry would not help. */
export function createCountTranslation(options: CountOptions): FormatAdapter {
  const { client, codec, send } = options
  return async (attempt, sink) => {
    const {
      body,
      problem,
      degraded: unread,
      ownNames,
    } = client.read(parsedObject(attempt.call.body), clientContext(attempt))
    const { request, degraded: changed } = normalRequest(body, attempt.target, ownNames)
    const degraded = [...unread, ...changed]
    const shown = withDegradedHeader(attempt, degraded)
    const estimate = () => answerCount(shown, sink, client.write(estimateInputTokens(request)))
    if (!codec?.counting) return estimate()
    const reader = createCountReader({ client, codec, counting: codec.counting, problem, degraded })
    const upstream = codec.counting.request(request, contextOf(attempt, options))
    const result = await send(sending(attempt, new Exchange({ attempt: shown, sink, reader }), upstream))
    return result.outcome === 'refused' && verdictOf(result) === 'final' ? estimate() : result
  }
}

const contextOf = ({ call, parsed, target }: Attempt, { signers, callSignatures }: CodecNeeds): CodecContext => ({
  deployment: target.deployment,
  upstreamModel: target.upstreamModel,
  stream: parsed.stream,
  requestId: call.requestId,
  reasoning: signers({ provider: target.deployment.provider, model: target.upstreamModel }),
  callSignatures,
  clientHeaders: call.headers,
})

function sending(
  attempt: Attempt,
  exchange: Exchange,
  { path, headers, body }: UpstreamRequest<Json | Parts>,
  extracted?: ExtractedTexts,
) {
  const bytes = isBytes(body) ? body : Buffer.from(JSON.stringify(body))
  const whole = extracted ? extracted.restore(joined(bytes)) : bytes
  return { attempt, exchange, path, headers: { ...ownHeaders, ...traceOf(attempt.call), ...headers }, body: whole }
}

const isBytes = (body: Json | Parts): body is Parts => Buffer.isBuffer(body) || Array.isArray(body)

interface CountReading {
  readonly client: CountFormat
  readonly codec: Pick<Codec, 'problem'>
  readonly counting: NonNullable<Codec['counting']>
  readonly problem: ProblemWriter
  readonly degraded: readonly Degradation[]
}

/**
 * Creates the reader for a provider's own token counter. An answer without a count is an upstream error, so that an
 * estimate replaces it.
 */
const createCountReader = ({ client, codec, counting, problem, degraded }: CountReading): AnswerReader => ({
  isStream: () => false,
  whole(head, body) {
    const count = counting.answer(jsonOr(body.toString(), undefined))
    if (count === undefined) return { outcome: 'refused', ...head, status: 501, body }
    return {
      headers: { ...head.headers, 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(client.write(count))),
      counts: () => ({ usage: noTokens, stopReason: undefined }),
    }
  },
  upstreamError(head, body) {
    const found = codec.problem(head.status, jsonOr(body.toString(), body.toString()))
    const withStatus = { ...found, status: head.status, reason: found.reason }
    return upstreamErrorOf({ problem: withStatus, write: problem, head, degraded })
  },
  stream: () => {
    throw new Error('token counts are never streamed')
  },
})
