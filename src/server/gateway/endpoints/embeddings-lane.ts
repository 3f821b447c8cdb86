import { codeOfStatus } from '../../../contract/errors.ts'
import { googleError } from '../../../contract/gemini.ts'
import { openAiError } from '../../../contract/openai.ts'
import { invalid } from '../../platform/errors.ts'
import { jsonOr, recordOf } from '../../platform/json.ts'
import type { Attempt, Lane, Outcome, Refusal, Sink } from '../core/call.ts'
import { parsedObject } from '../core/request-checks.ts'
import { faultOf, isWholeJson } from '../passthrough/answers.ts'
import { estimateInputOf } from '../tokens/count-tokens.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { bedrockMessage } from '../upstream/bedrock.ts'
import { type AnswerHead, type AnswerReader, Exchange, upstreamFault, type WholeAnswer } from '../upstream/exchange.ts'
import { ownHeaders } from '../upstream/headers.ts'
import { scrubbedText } from '../upstream/scrub.ts'
import type { Send } from '../upstream/send.ts'
import { clientOf, type Embedded, type EmbeddingKind, upstreamOf } from './embedding-formats.ts'

interface Options {
  readonly kind: EmbeddingKind
  readonly send: Send
}

/** The lane of embeddings where client and upstream speak different formats. Vectors pass as the upstream states them. */
export function createEmbeddingsLane({ kind, send }: Options): Lane {
  const client = clientOf[kind]
  return async (attempt, sink) => {
    const upstream = upstreamOf(attempt.target)
    if (!upstream) throw invalid(`model ${attempt.ask.model.slice(0, 200)} has no embeddings at its upstream`)
    const wanted = client.read(parsedObject(attempt.call.body))
    const parts: Embedded[] = []
    // Some models take one text a request.
    for (const { path, body } of upstream.requests(wanted, attempt.target)) {
      const kept = keepingSink()
      const reader = new EmbeddingReader(attempt, kind)
      const exchange = new Exchange({ attempt, sink: kept.sink, reader })
      const ending = await send({
        attempt,
        exchange,
        path,
        headers: ownHeaders,
        body: Buffer.from(JSON.stringify(body)),
      })
      if (ending.outcome !== 'completed') return ending
      const read = upstream.read(recordOf(jsonOr(kept.body().toString('utf8'), undefined)))
      if (read.vectors.length === 0) throw upstreamFault(attempt, 'sent an answer without embeddings')
      parts.push(read)
    }
    return answer(attempt, sink, { parts, write: embedded => client.write(embedded, wanted, attempt.ask.model) })
  }
}

interface Answering {
  readonly parts: readonly Embedded[]
  readonly write: (embedded: Embedded & { readonly tokens: number }) => object
}

function answer(attempt: Attempt, sink: Sink, { parts, write }: Answering): Outcome {
  const isStated = parts.every(({ tokens }) => tokens !== undefined)
  const stated = parts.reduce((sum, { tokens = 0 }) => sum + tokens, 0)
  const tokens = isStated ? stated : estimateInputOf(attempt.call)
  const body = Buffer.from(JSON.stringify(write({ vectors: parts.flatMap(({ vectors }) => vectors), tokens })))
  sink.head(200, {
    'content-type': 'application/json',
    'content-length': String(body.length),
    'request-id': attempt.call.requestId,
    ...(!isStated && { 'x-switchyard-estimated': 'input_tokens' }),
    ...attempt.ownHeaders,
  })
  sink.end(body)
  return {
    outcome: 'completed',
    status: 200,
    stopReason: undefined,
    usage: { ...noTokens, input_tokens: tokens, estimated: !isStated },
    firstContentMs: performance.now() - attempt.startedMs,
  }
}

function keepingSink() {
  const chunks: Buffer[] = []
  const sink: Sink = {
    head: () => undefined,
    data: chunk => chunks.push(chunk) > 0,
    onDrain: resume => resume(),
    end: chunk => void (chunk && chunks.push(chunk)),
  }
  return { sink, body: () => Buffer.concat(chunks) }
}

/** Takes whole answers, and turns refusals into the client's format. */
class EmbeddingReader implements AnswerReader {
  readonly #attempt: Attempt
  readonly #kind: EmbeddingKind

  constructor(attempt: Attempt, kind: EmbeddingKind) {
    this.#attempt = attempt
    this.#kind = kind
  }

  isStream(): boolean {
    return false
  }

  stream(): never {
    throw new Error('embeddings are not streamed')
  }

  whole(head: AnswerHead, body: Buffer): WholeAnswer | Refusal {
    if (isWholeJson(body))
      return { headers: head.headers, body, counts: () => ({ usage: noTokens, stopReason: undefined }) }
    return this.#refused(
      { ...head, status: 502 },
      upstreamFault(this.#attempt, 'sent an answer that is no JSON').message,
    )
  }

  refusal(head: AnswerHead, body: Buffer): Refusal {
    const value = jsonOr(body.toString('utf8'), undefined)
    const words = faultOf(value).message || bedrockMessage(value ?? body.toString('utf8'))
    return this.#refused(head, words || `the upstream answered with status ${head.status}`)
  }

  #refused({ status, headers }: AnswerHead, words: string): Refusal {
    const message = scrubbedText(words, this.#attempt.target.deployment)
    const known = codeOfStatus(status)
    const code = known === 'internal' && status < 500 ? 'invalid_request' : known
    const told = this.#kind === 'embeddings' ? openAiError(code, message) : googleError(code, message)
    return {
      outcome: 'refused',
      status,
      headers: { ...headers, 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(told)),
    }
  }
}
