import type { CallKind, DeployedModel, EndpointKind, Unit } from '../core/call.ts'

/** Properties of an endpoint that is passed through. */
export interface Endpoint {
  /** Path after the base address of an OpenAI-compatible upstream, and after `/v1` at the gateway. */
  readonly path: string
  /** Format of the request body; `either` accepts a form, or the same fields as JSON. */
  readonly form: 'json' | 'multipart' | 'either'
  /** Required fields. */
  readonly required: readonly string[]
  /** Names of file parts in a form: exactly one `one` or several `list`, and at most one `besides`. */
  readonly files?: { readonly one: string; readonly list?: string; readonly besides?: string }
  /** Model of a request that names none. */
  readonly defaultModel?: string
  /** Unit that the endpoint charges when it does not charge tokens. */
  readonly unit?: Unit
  /** True when a token price is only complete with an output rate. */
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

/** Reports whether calls of a kind pass through to an endpoint in `endpoints`. */
export const isEndpoint = (kind: CallKind): kind is EndpointKind => Object.hasOwn(endpoints, kind)

/**
 * Endpoints of known providers that lack some. Source: OpenAI's and OpenRouter's OpenAPI documents, the references
 * "Azure OpenAI REST API", "OpenAI compatibility" of Ollama (some of its versions generate images) and of Gemini.
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

/** Reports whether a model's upstream has an endpoint. Unknown providers are assumed to have all of them. */
export const hasEndpoint = (kind: EndpointKind, { deployment: { provider } }: DeployedModel): boolean =>
  !Object.hasOwn(served, provider) || (served[provider]?.includes(kind) ?? false)

/** Returns the path of an endpoint after the base address of a model's deployment. */
export function endpointPath(kind: EndpointKind, { deployment: { provider, apiBase } }: DeployedModel): string {
  const { path } = endpoints[kind]
  // Rerank exists in Cohere's own API only, not at its base address for OpenAI's clients.
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

/** Path that clients call, by the kinds of calls that a model may serve. */
export const pathOfKind: ReadonlyMap<CallKind, string> = new Map<CallKind, string>([
  ...(Object.entries(others) as [CallKind, string][]),
  ...(Object.entries(endpoints) as [EndpointKind, Endpoint][]).map(([kind, { path }]): [CallKind, string] => [
    kind,
    `/v1${path}`,
  ]),
])
