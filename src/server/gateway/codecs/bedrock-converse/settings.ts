import { compact, isRecord, type Json } from '../../../platform/json.ts'
import { isClaudeFrom } from '../../upstream/bedrock-models.ts'
import type { Conversion } from './conversion.ts'

/** How much is written, and how freely. */
export interface Sampling {
  readonly inferenceConfig: Json
  /** For `additionalModelRequestFields`. */
  readonly fields: Json
}

/** The settings of a request that the model takes; the others are listed. */
export function samplingOf(request: Json, isThinking: boolean, conversion: Conversion): Sampling {
  const { temperature, top_p: topP, top_k: topK, stop_sequences: stops, max_tokens: maxTokens } = request
  const refused = refusedBy(isThinking, conversion)
  const taken = (name: string, value: unknown): unknown => {
    if (value === undefined || value === null) return undefined
    if (!refused(name, value)) return value
    conversion.note(name, 'dropped')
    return undefined
  }
  const inferenceConfig = compact({
    maxTokens: typeof maxTokens === 'number' ? maxTokens : undefined,
    temperature: taken('temperature', temperature),
    topP: taken('top_p', topP),
    stopSequences: Array.isArray(stops) && stops.length > 0 ? taken('stop_sequences', stops) : undefined,
  })
  return { inferenceConfig, fields: compact({ top_k: taken('top_k', topK) }) }
}

type Refuses = (name: string, value: unknown) => boolean

/** Facts of the models: what they answer with an error. */
function refusedBy(isThinking: boolean, { model }: Conversion): Refuses {
  if (model.family === 'openai') return name => name !== 'max_tokens'
  if (model.family !== 'claude') return name => name === 'top_k'
  // From 4.7 on the model samples as it sees fit.
  if (isClaudeFrom(model, 407)) return name => name !== 'stop_sequences'
  if (!isThinking) return () => false
  return (name, value) => {
    if (name === 'temperature') return value !== 1
    if (name === 'top_p') return typeof value !== 'number' || value < 0.95
    return name === 'top_k'
  }
}

const metadataKey = /^[a-zA-Z0-9\s:_@$#=/+,.-]{1,256}$/
const metadataValue = /^[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}$/
const maxMetadata = 16

/** Entries of `metadata` that Bedrock's logs take. */
export function requestMetadata(metadata: unknown, { note }: Conversion): Json | undefined {
  if (!isRecord(metadata)) return undefined
  const kept: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(metadata)) {
    const isTaken = typeof value === 'string' && metadataKey.test(key) && metadataValue.test(value)
    if (isTaken && Object.keys(kept).length < maxMetadata) kept[key] = value
    else if (value !== undefined && value !== null) note(`metadata.${key}`, 'dropped')
  }
  return Object.keys(kept).length === 0 ? undefined : kept
}
