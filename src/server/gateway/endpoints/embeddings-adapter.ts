import { codeOfStatus } from '../../../contract/error-codes.ts'
import { googleError } from '../../../contract/gemini.ts'
import { openAiError } from '../../../contract/openai.ts'
import { invalid } from '../../platform/errors.ts'
import { jsonOr, recordOf } from '../../platform/json.ts'
import type { Attempt, FormatAdapter, Outcome, Sink, UpstreamError } from '../core/call.ts'
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

/** Translates embeddings between a client and an upstream with different formats. Vectors are not changed. */
export function createEmbeddingsAdapter({ kind, send }: Options): FormatAdapter {
  const client = clientOf[kind]
  return async (attempt, sink) => {
    const upstream = upstreamOf(attempt.target)
    if (!upstream)
      throw invalid(`model ${attempt.parsed.model.slice(0, 200)} does not support embeddings at its provider`)
    const request = client.read(parsedObject(attempt.call.body))
    const parts: Embedded[] = []
    // Some models accept one text per request.
    for (const { path, body } of upstream.requests(request, attempt.target)) {
      const collector = collectingSink()
      const reader = new EmbeddingReader(attempt, kind)
      const exchange = new Exchange({ attempt, sink: collector.sink, reader })
      const ending = await send({
        attempt,
        exchange,
        path,
        headers: ownHeaders,
        body: Buffer.from(JSON.stringify(body)),
      })
      if (ending.outcome !== 'completed') return ending
      const read = upstream.read(recordOf(jsonOr(collector.body().toString('utf8'), undefined)))
      if (read.vectors.length === 0) throw upstreamFault(attempt, 'returned a response without embeddings')
      parts.push(read)
    }
    const count = parts.reduce((sum, { vectors }) => sum + vectors.length, 0)
    // A client would take the vector of one text for that of another.
    if (count !== request.texts.length)
      throw upstreamFault(attempt, `returned ${count} embeddings for ${request.texts.length} texts`)
    return answer(attempt, sink, { parts, write: embedded => client.write(embedded, request, attempt.parsed.model) })
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

function collectingSink() {
  const chunks: Buffer[] = []
  const sink: Sink = {
    head: () => undefined,
    data: chunk => chunks.push(chunk) > 0,
    onDrain: resume => resume(),
    end: chunk => void (chunk && chunks.push(chunk)),
  }
  return { sink, body: () => Buffer.concat(chunks) }
}

/** Reads whole responses and converts upstream errors into the client's format. */
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

  whole(head: AnswerHead, body: Buffer): WholeAnswer | UpstreamError {
    if (isWholeJson(body))
      return { headers: head.headers, body, counts: () => ({ usage: noTokens, stopReason: undefined }) }
    return this.#errorOf(
      { ...head, status: 502 },
      upstreamFault(this.#attempt, 'returned a response that is not valid JSON').message,
    )
  }

  upstreamError(head: AnswerHead, body: Buffer): UpstreamError {
    const value = jsonOr(body.toString('utf8'), undefined)
    const message = faultOf(value).message || bedrockMessage(value ?? body.toString('utf8'))
    return this.#errorOf(head, message || `the upstream answered with status ${head.status}`)
  }

  #errorOf({ status, headers }: AnswerHead, text: string): UpstreamError {
    const message = scrubbedText(text, this.#attempt.target.deployment)
    const usual = codeOfStatus(status)
    const code = usual === 'internal' && status < 500 ? 'invalid_request' : usual
    const error = this.#kind === 'embeddings' ? openAiError(code, message) : googleError(code, message)
    return {
      outcome: 'refused',
      status,
      headers: { ...headers, 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(error)),
    }
  }
}
