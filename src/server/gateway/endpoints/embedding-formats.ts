import { isOpenAiFormat, protocols } from '../../config/protocols.ts'
import { invalid } from '../../platform/errors.ts'
import { countOf, isAbsent, type Json, jsonOr, listOf, recordOf, recordsOf } from '../../platform/json.ts'
import { baseModelOf, type CallKind, type DeployedModel, type Target } from '../core/call.ts'
import { embeddingTokensOf } from '../tokens/stated-usage.ts'
import { tokenCount } from '../tokens/token-counts.ts'
import { modelPath } from '../upstream/bedrock.ts'
import { geminiPath, geminiResource } from '../upstream/paths.ts'

/** Calls for embeddings, in OpenAI's format and in Google's two. */
export type EmbeddingKind = 'embeddings' | 'gemini_embed' | 'gemini_embed_batch'

export const isEmbedding = (kind: CallKind): kind is EmbeddingKind =>
  kind === 'embeddings' || kind === 'gemini_embed' || kind === 'gemini_embed_batch'

/** Request for embeddings, independent of the client's format. */
interface EmbeddingRequest {
  readonly texts: readonly string[]
  readonly dimensions?: number | undefined
  /** Google's task type, such as `RETRIEVAL_QUERY`. */
  readonly taskType?: string | undefined
  readonly isBase64: boolean
}

/** Embeddings of an upstream. `tokens` is undefined when it does not report them. */
export interface Embedded {
  readonly vectors: readonly (readonly number[])[]
  readonly tokens?: number | undefined
}

type Stated = Embedded & { readonly tokens: number }

interface Client {
  read(body: Json): EmbeddingRequest
  write(embedded: Stated, request: EmbeddingRequest, model: string): object
}

const openAiClient: Client = {
  read({ input, dimensions, encoding_format: encoding }) {
    const texts = typeof input === 'string' ? [input] : listOf(input)
    if (!texts.every(text => typeof text === 'string'))
      throw invalid('input must be a string or an array of strings: this upstream takes no token ids')
    return { texts, dimensions: dimensionsOf('dimensions', dimensions), isBase64: encoding === 'base64' }
  },
  write: ({ vectors, tokens }, { isBase64 }, model) => ({
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: isBase64 ? inBase64(vector) : vector,
    })),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }),
}

const inBase64 = (vector: readonly number[]): string => Buffer.from(new Float32Array(vector).buffer).toString('base64')

const vectorStart = /"embedding"\s*:\s*\[/

/**
 * Returns an answer in OpenAI's format in the encoding that the request wants: some servers ignore `base64`, which
 * OpenAI's clients request by default, and those clients then decode wrong vectors without an error.
 */
export function inRequestedEncoding(request: Buffer, answer: Buffer): Buffer {
  if (!request.includes('"base64"') || !vectorStart.test(answer.toString('latin1', 0, 4_096))) return answer
  const parsed = recordOf(jsonOr(answer.toString('utf8'), undefined))
  if (recordOf(jsonOr(request.toString('utf8'), undefined))['encoding_format'] !== 'base64') return answer
  const data = recordsOf(parsed['data']).map(item =>
    Array.isArray(item['embedding']) ? { ...item, embedding: inBase64(vectorOf(item['embedding'])) } : item,
  )
  return Buffer.from(JSON.stringify({ ...parsed, data }))
}

const googleClient = (isBatch: boolean): Client => ({
  read(body) {
    const requests = isBatch ? recordsOf(body['requests']) : [body]
    if (requests.length === 0) throw invalid('requests is required')
    const [first = {}] = requests
    return {
      texts: requests.map(({ content }, at) => textOf(content, isBatch ? `requests[${at}].content` : 'content')),
      dimensions: dimensionsOf('outputDimensionality', first['outputDimensionality'] ?? first['output_dimensionality']),
      taskType: typeof first['taskType'] === 'string' ? first['taskType'] : undefined,
      isBase64: false,
    }
  },
  write({ vectors, tokens }) {
    const embeddings = vectors.map(values => ({ values }))
    const usageMetadata = { promptTokenCount: tokens, totalTokenCount: tokens }
    return isBatch ? { embeddings, usageMetadata } : { embedding: embeddings[0], usageMetadata }
  },
})

export const clientOf: Readonly<Record<EmbeddingKind, Client>> = {
  embeddings: openAiClient,
  gemini_embed: googleClient(false),
  gemini_embed_batch: googleClient(true),
}

function textOf(content: unknown, field: string): string {
  const parts = recordsOf(recordOf(content)['parts'])
  if (parts.length === 0) throw invalid(`${field}.parts is required`)
  if (!parts.every(({ text }) => typeof text === 'string'))
    throw invalid(`${field}.parts must contain text: this provider embeds text only`)
  return parts.map(({ text }) => text).join('\n')
}

function dimensionsOf(field: string, value: unknown): number | undefined {
  if (isAbsent(value)) return undefined
  const count = countOf(value)
  if (!count) throw invalid(`${field} must be an integer of 1 or more`)
  return count
}

interface Upstream {
  requests(request: EmbeddingRequest, target: Target): readonly { readonly path: string; readonly body: object }[]
  read(answer: Json): Embedded
}

const vectorOf = (value: unknown): readonly number[] => listOf(value).filter(each => typeof each === 'number')

/** Returns the items in the order of the texts: an item names its text by `index`, and servers may answer in any order. */
const inOrder = (items: readonly Json[]): readonly Json[] =>
  items.every(({ index }) => countOf(index) !== undefined)
    ? items.toSorted((one, other) => Number(one['index']) - Number(other['index']))
    : items

const openAi: Upstream = {
  requests: ({ texts, dimensions }, { upstreamModel: model }) => [
    { path: '/embeddings', body: { model, input: texts, ...(dimensions && { dimensions }) } },
  ],
  read: ({ data, usage }) => ({
    vectors: inOrder(recordsOf(data)).map(({ embedding }) => vectorOf(embedding)),
    tokens: embeddingTokensOf(usage),
  }),
}

const gemini: Upstream = {
  requests({ texts, dimensions, taskType }, target) {
    const model = geminiResource(target.upstreamModel)
    const requests = texts.map(text => ({
      model,
      content: { parts: [{ text }] },
      ...(dimensions && { outputDimensionality: dimensions }),
      ...(taskType && { taskType }),
    }))
    return chunksOf(requests, 100).map(chunk => ({
      path: geminiPath(target, 'batchEmbedContents'),
      body: { requests: chunk },
    }))
  },
  read: ({ embeddings, usageMetadata }) => ({
    vectors: recordsOf(embeddings).map(({ values }) => vectorOf(values)),
    tokens: tokenCount(recordOf(usageMetadata)['promptTokenCount']),
  }),
}

const titan: Upstream = {
  requests: ({ texts, dimensions }, { upstreamModel }) =>
    texts.map(inputText => ({
      path: modelPath(upstreamModel, 'invoke'),
      body: { inputText, ...(dimensions && { dimensions }) },
    })),
  read: ({ embedding, inputTextTokenCount: tokens }) => ({
    vectors: [vectorOf(embedding)],
    tokens: tokenCount(tokens),
  }),
}

const cohere: Upstream = {
  requests: ({ texts, dimensions, taskType }, { upstreamModel }) =>
    chunksOf(texts, 96).map(chunk => ({
      path: modelPath(upstreamModel, 'invoke'),
      body: {
        texts: chunk,
        input_type: taskType === 'RETRIEVAL_QUERY' ? 'search_query' : 'search_document',
        ...(dimensions && { output_dimension: dimensions }),
      },
    })),
  // Newer models group the vectors by number type.
  read: ({ embeddings }) => ({
    vectors: listOf(Array.isArray(embeddings) ? embeddings : recordOf(embeddings)['float']).map(vectorOf),
  }),
}

/** Returns the upstream format of an embedding model; undefined for other models, judged by provider and name. */
export function upstreamOf(target: Target): Upstream | undefined {
  const { deployment, protocol } = target
  const model = baseModelOf(target)
  if (isOpenAiFormat(protocol)) return openAi
  if (protocol === 'gemini') return deployment.google ? undefined : gemini
  if (protocols[protocol].cloud !== 'aws') return undefined
  if (/titan-embed/.test(model)) return titan
  return /cohere\.embed/.test(model) ? cohere : undefined
}

/** Reports whether embeddings can be translated for a model. */
export const canEmbed = (model: DeployedModel, protocol: Target['protocol']): boolean =>
  upstreamOf({ ...model, protocol }) !== undefined

const chunksOf = <T>(all: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size))
