import { isOpenAiFormat, type Protocol } from '../config/protocols.ts'
import type { Keyring } from '../platform/encryption.ts'
import {
  type BedrockKind,
  type CallKind,
  type DeployedModel,
  type EndpointKind,
  type FormatAdapter,
  isBedrock,
} from './core/call.ts'
import type { ClientFormat, CountFormat } from './core/client-format.ts'
import type { Codec } from './core/codec.ts'
import { createCallSignatures, createReasoningSigners } from './core/reasoning-signers.ts'
import { createCountTranslation, createTranslation } from './core/translation.ts'
import { createDemoAdapter } from './demo/demo-adapter.ts'
import { createEndpointAdapter } from './endpoints/adapter.ts'
import { canEmbed, type EmbeddingKind, isEmbedding } from './endpoints/embedding-formats.ts'
import { createEmbeddingsAdapter } from './endpoints/embeddings-adapter.ts'
import { geminiEmbedPassthrough } from './endpoints/gemini-embed.ts'
import { hasEndpoint, isEndpoint } from './endpoints/table.ts'
import type { ProviderCopies } from './files/provider-copies.ts'
import { type BatchCall, createReferringAdapter, createReferringRequest } from './files/referring-adapter.ts'
import { anthropicMessagesCodec, bedrockInvokeCodec, vertexAnthropicCodec } from './formats/anthropic/codec.ts'
import { anthropicClient, anthropicCounts } from './formats/anthropic/write-answer.ts'
import { bedrockConverse } from './formats/bedrock-converse/codec.ts'
import { gemini } from './formats/gemini/codec.ts'
import { geminiClient, geminiCounts } from './formats/gemini/read-request.ts'
import { openaiChat } from './formats/openai-chat/codec.ts'
import { chatClient } from './formats/openai-chat/read-request.ts'
import { openaiResponses } from './formats/openai-responses/codec.ts'
import { compactionClient, responsesClient, responsesCounts } from './formats/openai-responses/read-request.ts'
import { createPassthrough } from './passthrough/adapter.ts'
import { anthropicMessages } from './passthrough/anthropic-messages.ts'
import { conversePassthrough, invokePassthrough } from './passthrough/bedrock.ts'
import { bedrockInvoke } from './passthrough/bedrock-invoke.ts'
import { geminiPassthrough } from './passthrough/gemini.ts'
import {
  openAiChat,
  openAiCompactions,
  openAiEmbeddings,
  openAiResponseCounts,
  openAiResponses,
} from './passthrough/openai.ts'
import type { PassthroughFormat, PassthroughRequest } from './passthrough/passthrough-format.ts'
import { vertexAnthropic } from './passthrough/vertex-anthropic.ts'
import { protocolsOf } from './routing/served-protocols.ts'
import { createAuthorize } from './upstream/authorize.ts'
import { createGoogleTokens } from './upstream/google-token.ts'
import type { Pools } from './upstream/pools.ts'
import { createSend } from './upstream/send.ts'

/** Protocol and adapter for a call. */
export interface ChosenAdapter {
  readonly protocol: Protocol
  readonly adapter: FormatAdapter
  /** Builds a request for a batch of the upstream; absent where its format is not the client's. */
  readonly batchRequest?: (call: BatchCall) => Promise<PassthroughRequest | undefined>
}

/** Chooses protocol and adapter for calls of a kind to a model; undefined when there is no adapter. */
export type AdapterFor = (kind: CallKind, model: DeployedModel) => ChosenAdapter | undefined

interface Options {
  readonly pools: Pools
  /** Shared by all replicas: signs the reasoning state of other providers. */
  readonly keyring: Keyring
  /** Copies of files at providers; absent where files are not stored. */
  readonly copies?: ProviderCopies
  /** Called when an invalid event in an answer was repaired. */
  readonly onRepair: (what: string, deployment: string) => void
  /** Silence in a stream after which a ping is sent; 15,000 by default. */
  readonly pingAfterMs?: number
  /** How long a stream without content is buffered, so that an early error can be retried; 2,000 by default. */
  readonly bufferMs?: number
}

/** Codec of each upstream protocol. The only list of them. */
export const codecs: Readonly<Record<Exclude<Protocol, 'demo'>, Codec>> = {
  'anthropic-messages': anthropicMessagesCodec,
  'bedrock-converse': bedrockConverse,
  'bedrock-invoke': bedrockInvokeCodec,
  gemini,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  'vertex-anthropic': vertexAnthropicCodec,
}

const countFormats = {
  count_tokens: anthropicCounts,
  gemini_count: geminiCounts,
  responses_count: responsesCounts,
} as const satisfies Partial<Record<CallKind, CountFormat>>

/** Reader and writer of each client format. */
export const clients: Readonly<
  Record<Exclude<CallKind, keyof typeof countFormats | BedrockKind | EmbeddingKind | EndpointKind>, ClientFormat>
> = {
  messages: anthropicClient,
  chat: chatClient,
  responses: responsesClient,
  responses_compact: compactionClient,
  gemini: geminiClient,
}

function clientOf(kind: keyof typeof clients | BedrockKind): ClientFormat {
  if (isBedrock(kind)) throw new Error(`calls of kind ${kind} are not translated`)
  return clients[kind]
}

const anthropicFormats: Partial<Record<Protocol, PassthroughFormat>> = {
  'anthropic-messages': anthropicMessages,
  'bedrock-invoke': bedrockInvoke,
  'vertex-anthropic': vertexAnthropic,
}

/** Passthrough formats: client and upstream use the same format, and bytes are relayed unchanged. */
const passthroughFormats: Readonly<
  Record<Exclude<CallKind, EndpointKind>, Partial<Record<Protocol, PassthroughFormat>>>
> = {
  messages: anthropicFormats,
  count_tokens: anthropicFormats,
  chat: { 'openai-chat': openAiChat },
  responses: { 'openai-responses': openAiResponses },
  responses_count: { 'openai-responses': openAiResponseCounts },
  responses_compact: { 'openai-responses': openAiCompactions },
  embeddings: { 'openai-chat': openAiEmbeddings, 'openai-responses': openAiEmbeddings },
  converse: { 'bedrock-converse': conversePassthrough, 'bedrock-invoke': conversePassthrough },
  invoke: { 'bedrock-converse': invokePassthrough, 'bedrock-invoke': invokePassthrough },
  gemini: { gemini: geminiPassthrough },
  gemini_count: { gemini: geminiPassthrough },
  gemini_embed: { gemini: geminiEmbedPassthrough },
  gemini_embed_batch: { gemini: geminiEmbedPassthrough },
}

/** Kinds of calls whose requests may refer to copies of files at the provider. */
const refersToFiles = (kind: CallKind): boolean => kind === 'messages' || kind === 'chat' || kind === 'responses'

/** True where the bytes of the answer are relayed unchanged. */
export const isPassthrough = (kind: CallKind, protocol: Protocol): boolean =>
  isEndpoint(kind) ? isOpenAiFormat(protocol) : passthroughFormats[kind][protocol] !== undefined

/** Returns the protocol for calls of a kind to a model: the client's own if served, else the default. */
function protocolFor(kind: CallKind, model: DeployedModel): Protocol {
  const served = protocolsOf(model)
  const own = served.find(protocol => isPassthrough(kind, protocol))
  return own ?? (isEmbedding(kind) ? served.find(isOpenAiFormat) : undefined) ?? served[0]
}

/** Creates the choice of adapters. Each adapter is built on first use. */
export function createFormatAdapters({
  pools,
  keyring,
  copies,
  onRepair,
  pingAfterMs = 15_000,
  bufferMs = 2_000,
}: Options): AdapterFor {
  const send = createSend({
    pools,
    authorize: createAuthorize({ googleTokens: createGoogleTokens({ outbound: pools }) }),
  })
  const signers = createReasoningSigners(keyring)
  const callSignatures = createCallSignatures()
  const adapters = new Map<string, FormatAdapter>()

  const withCopies = (kind: CallKind, adapter: FormatAdapter): FormatAdapter =>
    copies && refersToFiles(kind) ? createReferringAdapter(adapter, copies) : adapter

  const build = (kind: CallKind, protocol: Protocol): FormatAdapter => {
    if (isEndpoint(kind)) return createEndpointAdapter({ kind, send, pingAfterMs, bufferMs })
    const format = passthroughFormats[kind][protocol]
    if (format) return withCopies(kind, createPassthrough({ format, send, pingAfterMs, bufferMs }))
    if (isEmbedding(kind)) return createEmbeddingsAdapter({ kind, send })
    const codec = protocol === 'demo' ? undefined : codecs[protocol]
    const needs = { send, signers, callSignatures }
    if (kind === 'count_tokens' || kind === 'gemini_count' || kind === 'responses_count')
      return createCountTranslation({ ...needs, client: countFormats[kind], ...(codec && { codec }) })
    const client = clientOf(kind)
    if (!codec) return createDemoAdapter(client)
    return createTranslation({ ...needs, client, codec, pingAfterMs, bufferMs, onRepair })
  }

  const batchRequestOf = (kind: CallKind, protocol: Protocol): Pick<ChosenAdapter, 'batchRequest'> => {
    const format = isEndpoint(kind) ? undefined : passthroughFormats[kind][protocol]
    return format ? { batchRequest: createReferringRequest(format.request, copies) } : {}
  }

  const adapterOf = (kind: CallKind, protocol: Protocol): FormatAdapter => {
    const key = `${kind} ${protocol}`
    const existing = adapters.get(key)
    if (existing) return existing
    const adapter = build(kind, protocol)
    adapters.set(key, adapter)
    return adapter
  }
  return (kind, model) => {
    const protocol = protocolFor(kind, model)
    if (isBedrock(kind) && !isPassthrough(kind, protocol)) return undefined
    if (isEndpoint(kind) && !(isPassthrough(kind, protocol) && hasEndpoint(kind, model))) return undefined
    if (isEmbedding(kind) && !isPassthrough(kind, protocol) && !canEmbed(model, protocol)) return undefined
    return { protocol, adapter: adapterOf(kind, protocol), ...batchRequestOf(kind, protocol) }
  }
}
