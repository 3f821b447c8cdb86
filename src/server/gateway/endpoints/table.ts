import type { CallKind, DeployedModel, EndpointKind, Unit } from '../core/call.ts'

/** What the gateway knows of an endpoint whose bytes it passes on. */
export interface Endpoint {
  /** Behind the base address of an OpenAI-compatible upstream, and behind `/v1` here. */
  readonly path: string
  /** The form of the request body; `either` takes the form and the same fields as JSON. */
  readonly form: 'json' | 'multipart' | 'either'
  /** Fields without which no upstream answers. */
  readonly required: readonly string[]
  /** Names of the parts that hold files, of multipart bodies: exactly one of the first, any number of lists. */
  readonly files?: { readonly one: string; readonly list?: string; readonly besides?: string }
  /** The model of a request that names none. */
  readonly defaultModel?: string
  /** What the endpoint charges where it does not charge tokens. */
  readonly unit?: Unit
  /** True where a price of tokens is only known with that of output. */
  readonly hasOutput: boolean
}

export const endpoints: Readonly<Record<EndpointKind, Endpoint>> = {
  completions: { path: '/completions', form: 'json', required: ['prompt'], hasOutput: true },
  moderations: {
    path: '/moderations',
    form: 'json',
    required: ['input'],
    defaultModel: 'omni-moderation-latest',
    unit: 'query',
    hasOutput: false,
  },
  rerank: { path: '/rerank', form: 'json', required: ['query', 'documents'], unit: 'query', hasOutput: false },
  images: { path: '/images/generations', form: 'json', required: ['prompt'], unit: 'image', hasOutput: true },
  image_edits: {
    path: '/images/edits',
    form: 'either',
    required: ['prompt'],
    files: { one: 'image', list: 'image[]', besides: 'mask' },
    unit: 'image',
    hasOutput: true,
  },
  image_variations: {
    path: '/images/variations',
    form: 'multipart',
    required: [],
    files: { one: 'image' },
    unit: 'image',
    hasOutput: true,
  },
  speech: { path: '/audio/speech', form: 'json', required: ['input'], unit: 'character', hasOutput: true },
  transcriptions: {
    path: '/audio/transcriptions',
    form: 'multipart',
    required: [],
    files: { one: 'file' },
    unit: 'second',
    hasOutput: true,
  },
  translations: {
    path: '/audio/translations',
    form: 'multipart',
    required: [],
    files: { one: 'file' },
    unit: 'second',
    hasOutput: true,
  },
}

/** True for calls that pass through to an endpoint of the table. */
export const isEndpoint = (kind: CallKind): kind is EndpointKind => Object.hasOwn(endpoints, kind)

/**
 * The endpoints of known providers that do not have all of them. Source: OpenAI's and OpenRouter's OpenAPI documents, the
 * references "Azure OpenAI REST API", "OpenAI compatibility" of Ollama (some of its versions draw images) and of Gemini.
 */
const served: Readonly<Record<string, readonly EndpointKind[]>> = {
  openai: without('rerank'),
  azure: without('rerank', 'moderations', 'image_variations'),
  openrouter: ['completions', 'images', 'rerank', 'speech', 'transcriptions'],
  ollama: ['completions', 'images', 'speech', 'transcriptions'],
  gemini: ['images'],
  vertex: [],
  bedrock: [],
  anthropic: [],
}

function without(...lacking: readonly EndpointKind[]): readonly EndpointKind[] {
  return (Object.keys(endpoints) as EndpointKind[]).filter(kind => !lacking.includes(kind))
}

/** True when the model's upstream has the endpoint; nobody knows of servers of one's own, which are asked. */
export const hasEndpoint = (kind: EndpointKind, { deployment: { provider } }: DeployedModel): boolean =>
  !Object.hasOwn(served, provider) || (served[provider]?.includes(kind) ?? false)

/** Where an endpoint stands behind the base address of a model's deployment. */
export function endpointPath(kind: EndpointKind, { deployment: { provider, apiBase } }: DeployedModel): string {
  const { path } = endpoints[kind]
  // Cohere's own API; its base address for OpenAI's clients has no rerank.
  if (kind === 'rerank' && provider === 'cohere' && !/\/v\d+$/.test(apiBase)) return `/v2${path}`
  return kind === 'images' && provider === 'openrouter' ? '/images' : path
}

const others: Readonly<
  Record<Exclude<CallKind, EndpointKind | 'count_tokens' | 'gemini_count' | 'responses_count'>, string>
> = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  responses_compact: '/v1/responses/compact',
  embeddings: '/v1/embeddings',
  gemini: '/v1beta/models/{model}:generateContent',
  converse: '/bedrock/model/{model}/converse',
  invoke: '/bedrock/model/{model}/invoke',
  gemini_embed: '/v1beta/models/{model}:embedContent',
  gemini_embed_batch: '/v1beta/models/{model}:batchEmbedContents',
}

/** The kinds of calls that a model may serve, each with the path that clients call. */
export const pathOfKind: ReadonlyMap<CallKind, string> = new Map<CallKind, string>([
  ...(Object.entries(others) as [CallKind, string][]),
  ...(Object.entries(endpoints) as [EndpointKind, Endpoint][]).map(([kind, { path }]): [CallKind, string] => [
    kind,
    `/v1${path}`,
  ]),
])
