import type { Protocol } from '../config/config.ts'
import type { Keyring } from '../platform/seal.ts'
import {
  type BedrockKind,
  type CallKind,
  type DeployedModel,
  type EndpointKind,
  isBedrock,
  type Lane,
} from './core/call.ts'
import type { ClientFormat, CountFormat } from './core/client-format.ts'
import type { Codec } from './core/codec.ts'
import { createCallSignatures, createReasoningSeals } from './core/reasoning-seal.ts'
import { createCountLane, createTranslatedLane } from './core/translated-lane.ts'
import { createDemoLane } from './demo/demo-lane.ts'
import { canEmbed, type EmbeddingKind, isEmbedding } from './endpoints/embedding-formats.ts'
import { createEmbeddingsLane } from './endpoints/embeddings-lane.ts'
import { rawGeminiEmbed } from './endpoints/gemini-embed.ts'
import { createEndpointLane } from './endpoints/lane.ts'
import { hasEndpoint, isEndpoint } from './endpoints/table.ts'
import { anthropicMessagesCodec, bedrockInvokeCodec, vertexAnthropicCodec } from './formats/anthropic/codec.ts'
import { anthropicClient, anthropicCounts } from './formats/anthropic/write-answer.ts'
import { bedrockConverse } from './formats/bedrock-converse/codec.ts'
import { gemini } from './formats/gemini/codec.ts'
import { geminiClient, geminiCounts } from './formats/gemini/read-request.ts'
import { openaiChat } from './formats/openai-chat/codec.ts'
import { chatClient } from './formats/openai-chat/read-request.ts'
import { openaiResponses } from './formats/openai-responses/codec.ts'
import { compactionClient, responsesClient, responsesCounts } from './formats/openai-responses/read-request.ts'
import { anthropicMessages } from './passthrough/anthropic-messages.ts'
import { rawConverse, rawInvoke } from './passthrough/bedrock.ts'
import { bedrockInvoke } from './passthrough/bedrock-invoke.ts'
import { rawGemini } from './passthrough/gemini.ts'
import { createRawLane } from './passthrough/lane.ts'
import {
  openAiChat,
  openAiCompactions,
  openAiEmbeddings,
  openAiResponseCounts,
  openAiResponses,
} from './passthrough/openai.ts'
import { vertexAnthropic } from './passthrough/vertex-anthropic.ts'
import type { Wire } from './passthrough/wire.ts'
import { protocolsOf } from './routing/served-protocols.ts'
import { createAuthorize } from './upstream/authorize.ts'
import { createGoogleTokens } from './upstream/google-token.ts'
import { isOpenAi } from './upstream/paths.ts'
import type { Pools } from './upstream/pools.ts'
import { createSend } from './upstream/send.ts'

/** How a call is made. */
export interface Way {
  readonly protocol: Protocol
  readonly lane: Lane
}

/** How calls of a kind are made to a model: the only choice of protocol and lane. Undefined when there is no lane. */
export type LaneFor = (kind: CallKind, model: DeployedModel) => Way | undefined

interface Options {
  readonly pools: Pools
  /** Shared by all replicas: reasoning state of other providers is sealed with it. */
  readonly keyring: Keyring
  /** Called with what had to be repaired in the answers of a deployment. */
  readonly onRepair: (what: string, deployment: string) => void
  /** Silence in a stream after which a ping goes out; 15,000 by default. */
  readonly pingAfterMs?: number
  /** How long a stream without content is held back, so that an early error can be tried elsewhere; 2,000 by default. */
  readonly holdBackMs?: number
}

/** How each upstream protocol is written and read. Named here and nowhere else. */
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

/** How each client format is read and written. */
const clients: Readonly<
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

const anthropicWires: Partial<Record<Protocol, Wire>> = {
  'anthropic-messages': anthropicMessages,
  'bedrock-invoke': bedrockInvoke,
  'vertex-anthropic': vertexAnthropic,
}

/** Where upstream and client speak the same, bytes are passed on as they are. */
const wires: Readonly<Record<Exclude<CallKind, EndpointKind>, Partial<Record<Protocol, Wire>>>> = {
  messages: anthropicWires,
  count_tokens: anthropicWires,
  chat: { 'openai-chat': openAiChat },
  responses: { 'openai-responses': openAiResponses },
  responses_count: { 'openai-responses': openAiResponseCounts },
  responses_compact: { 'openai-responses': openAiCompactions },
  embeddings: { 'openai-chat': openAiEmbeddings, 'openai-responses': openAiEmbeddings },
  converse: { 'bedrock-converse': rawConverse, 'bedrock-invoke': rawConverse },
  invoke: { 'bedrock-converse': rawInvoke, 'bedrock-invoke': rawInvoke },
  gemini: { gemini: rawGemini },
  gemini_count: { gemini: rawGemini },
  gemini_embed: { gemini: rawGeminiEmbed },
  gemini_embed_batch: { gemini: rawGeminiEmbed },
}

/** True where the answer's bytes are passed on as they are. */
export const isRaw = (kind: CallKind, protocol: Protocol): boolean =>
  isEndpoint(kind) ? isOpenAi(protocol) : wires[kind][protocol] !== undefined

/**
 * The protocol of calls of a kind to a model: the client's own where its upstream serves it, so that bytes are passed on
 * as they are, else the deployment's default.
 */
function protocolFor(kind: CallKind, model: DeployedModel): Protocol {
  const served = protocolsOf(model)
  const raw = served.find(protocol => isRaw(kind, protocol))
  return raw ?? (isEmbedding(kind) ? served.find(isOpenAi) : undefined) ?? served[0]
}

/** Knows every lane; each is built when it is first used. */
export function createLanes({ pools, keyring, onRepair, pingAfterMs = 15_000, holdBackMs = 2_000 }: Options): LaneFor {
  const send = createSend({
    pools,
    authorize: createAuthorize({ googleTokens: createGoogleTokens({ outbound: pools }) }),
  })
  const seals = createReasoningSeals(keyring)
  const callSignatures = createCallSignatures()
  const lanes = new Map<string, Lane>()

  const build = (kind: CallKind, protocol: Protocol): Lane => {
    if (isEndpoint(kind)) return createEndpointLane({ kind, send, pingAfterMs, holdBackMs })
    const wire = wires[kind][protocol]
    if (wire) return createRawLane({ wire, send, pingAfterMs, holdBackMs })
    if (isEmbedding(kind)) return createEmbeddingsLane({ kind, send })
    const codec = protocol === 'demo' ? undefined : codecs[protocol]
    const needs = { send, seals, callSignatures }
    if (kind === 'count_tokens' || kind === 'gemini_count' || kind === 'responses_count')
      return createCountLane({ ...needs, client: countFormats[kind], ...(codec && { codec }) })
    const client = clientOf(kind)
    if (!codec) return createDemoLane(client)
    return createTranslatedLane({ ...needs, client, codec, pingAfterMs, holdBackMs, onRepair })
  }

  const laneOf = (kind: CallKind, protocol: Protocol): Lane => {
    const key = `${kind} ${protocol}`
    const known = lanes.get(key)
    if (known) return known
    const lane = build(kind, protocol)
    lanes.set(key, lane)
    return lane
  }
  return (kind, model) => {
    const protocol = protocolFor(kind, model)
    if (isBedrock(kind) && !isRaw(kind, protocol)) return undefined
    if (isEndpoint(kind) && !(isRaw(kind, protocol) && hasEndpoint(kind, model))) return undefined
    if (isEmbedding(kind) && !isRaw(kind, protocol) && !canEmbed(model, protocol)) return undefined
    return { protocol, lane: laneOf(kind, protocol) }
  }
}
