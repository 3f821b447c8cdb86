import type { UsageRow } from '../usage/store.ts'

// Names of the OpenTelemetry conventions for generative AI.

const providerNames: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  gemini: 'gcp.gemini',
  vertex: 'gcp.vertex_ai',
}

/** Returns `gen_ai.provider.name` of a provider. */
export const providerNameOf = (provider: string): string => providerNames[provider] ?? provider

const chat = 'chat'

const operations: Readonly<Record<string, string>> = {
  gemini: 'generate_content',
  completions: 'text_completion',
  embeddings: 'embeddings',
  gemini_embed: 'embeddings',
  gemini_embed_batch: 'embeddings',
  moderations: 'moderations',
  rerank: 'rerank',
  images: 'images',
  image_edits: 'images',
  image_variations: 'images',
  speech: 'speech',
  transcriptions: 'transcriptions',
  translations: 'transcriptions',
}

/** Returns `gen_ai.operation.name` of a call: one of the convention where it has one, else the kind of endpoint. */
export const operationOf = ({ kind }: Pick<UsageRow, 'kind'>): string => operations[kind ?? ''] ?? chat

/** Returns `error.type` of a call: the status, or the outcome of an answer that ended early; undefined for a success. */
export function errorTypeOf({ outcome, status }: Pick<UsageRow, 'outcome' | 'status'>): string | undefined {
  if (typeof status === 'number' && status >= 400) return String(status)
  return outcome === 'completed' ? undefined : outcome
}

/** Returns the input tokens of a call, with cached ones. */
export const inputTokensOf = (row: UsageRow): number =>
  row.input_tokens + row.cache_read_tokens + row.cache_write_5m_tokens + row.cache_write_1h_tokens
