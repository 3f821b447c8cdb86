import { invalid } from '../../../platform/errors.ts'
import { compact, isRecord, type Json, recordOf } from '../../../platform/json.ts'
import type { CanonicalRequest, CodecContext, UpstreamRequest } from '../../core/codec.ts'
import { isClaudeBefore, isClaudeFrom, modelPath } from '../../upstream/bedrock.ts'
import { limitCachePoints, type Sections } from './cache-points.ts'
import { blocksOf, type Conversion, startConversion } from './conversion.ts'
import { thinkingSettings } from './reasoning.ts'
import { toolBlocks, toolSettings } from './write-tools.ts'
import { converted, instructionBlocks, withLastPoint } from './write-turns.ts'

/** Fields that are converted, or need no conversion. */
const knownFields: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'system', 'max_tokens', 'stream', 'tools', 'tool_choice', 'cache_control', 'metadata'],
  ...['temperature', 'top_p', 'top_k', 'stop_sequences', 'thinking', 'output_config', 'output_format'],
])

/** Converts a canonical request for Converse or ConverseStream. */
export function converseRequest(request: CanonicalRequest, context: CodecContext): UpstreamRequest {
  const conversion = startConversion(context)
  const { body } = converseBody(request, conversion)
  noteUnknown(request, conversion)
  const operation = context.stream ? 'converse-stream' : 'converse'
  return { path: modelPath(context.upstreamModel, operation), body, degraded: conversion.degraded }
}

/** Returns the request to Bedrock's token counter. */
export function countRequest(request: CanonicalRequest, context: CodecContext): UpstreamRequest {
  const conversion = startConversion(context)
  const { messages, system, toolConfig, additionalModelRequestFields } = converseBody(request, conversion).body
  const converse = compact({ messages, system, toolConfig, additionalModelRequestFields })
  const path = modelPath(context.upstreamModel, 'count-tokens')
  return { path, body: { input: { converse } }, degraded: [] }
}

function converseBody(request: Json, conversion: Conversion): { readonly body: Json } {
  rejectMcpServers(request['mcp_servers'])
  const format = outputFormat(request, conversion)
  const { system, messages, tools } = limitCachePoints(sectionsOf(request, conversion), conversion)
  const hasCalls = messages.some(({ content }) => content.some(block => 'toolUse' in block || 'toolResult' in block))
  const { toolConfig, claudeChoice } = toolSettings({ tools, choice: request['tool_choice'], hasCalls }, conversion)
  const thinking = thinkingSettings(request, conversion)
  const sampling = samplingOf(request, thinking.isThinking, conversion)
  const fields = { ...thinking.fields, ...sampling.fields, ...(claudeChoice && { tool_choice: claudeChoice }) }
  const instructions = format.instructions ? [...system, format.instructions] : system
  const body = compact({
    messages,
    system: instructions.length > 0 ? instructions : undefined,
    inferenceConfig: sampling.inferenceConfig,
    toolConfig,
    additionalModelRequestFields: Object.keys(fields).length > 0 ? fields : undefined,
    additionalModelResponseFieldPaths: stopFields(sampling.inferenceConfig, conversion),
    requestMetadata: requestMetadata(request['metadata'], conversion),
    outputConfig: format.outputConfig,
  })
  return { body }
}

/** Returns the sections of a prompt that may contain cache points, in Anthropic's order. */
function sectionsOf(request: Json, conversion: Conversion): Sections {
  const tools = toolBlocks(request['tools'], conversion)
  const own = blocksOf(request['system'], 'system').flatMap(placed => instructionBlocks(placed, 'system', conversion))
  const { opening, messages } = converted(request['messages'], conversion)
  if (messages.length === 0) throw invalid('messages contains no content that this model accepts')
  return {
    tools,
    system: [...own, ...opening],
    messages: withLastPoint(messages, request['cache_control'], conversion),
  }
}

/** Requests the matched stop sequence, which only Claude returns. */
function stopFields({ stopSequences }: Json, { model }: Conversion): readonly string[] | undefined {
  const isReported = stopSequences !== undefined && model.family === 'claude'
  return isReported ? ['/stop_sequence', '/delta/stop_sequence'] : undefined
}

function rejectMcpServers(servers: unknown): void {
  if (Array.isArray(servers) && servers.length > 0)
    throw invalid('mcp_servers: the Converse API of Amazon Bedrock cannot call MCP servers')
}

function noteUnknown(request: Json, { note }: Conversion): void {
  for (const [field, value] of Object.entries(request)) {
    const isPlainTier = field === 'service_tier' && (value === 'auto' || value === 'standard_only')
    if (!knownFields.has(field) && !isPlainTier && !isEmpty(value)) note(field, 'dropped')
  }
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (Array.isArray(value) && value.length === 0) ||
  (isRecord(value) && Object.keys(value).length === 0)

/** Sampling settings and the output limit. */
interface Sampling {
  readonly inferenceConfig: Json
  /** For `additionalModelRequestFields`. */
  readonly fields: Json
}

/** Returns the settings that the model accepts. Others are dropped and recorded. */
function samplingOf(request: Json, isThinking: boolean, conversion: Conversion): Sampling {
  const { temperature, top_p: topP, top_k: topK, stop_sequences: stops, max_tokens: maxTokens } = request
  const isRejected = rejectedBy(isThinking, conversion)
  const accepted = (name: string, value: unknown): unknown => {
    if (value === undefined || value === null) return undefined
    if (!isRejected(name, value)) return value
    conversion.note(name, 'dropped')
    return undefined
  }
  const inferenceConfig = compact({
    maxTokens: typeof maxTokens === 'number' ? maxTokens : undefined,
    temperature: accepted('temperature', temperature),
    topP: accepted('top_p', topP),
    stopSequences: Array.isArray(stops) && stops.length > 0 ? accepted('stop_sequences', stops) : undefined,
  })
  return { inferenceConfig, fields: compact({ top_k: accepted('top_k', topK) }) }
}

type Rejects = (name: string, value: unknown) => boolean

/** Returns a predicate for settings that the model rejects. */
function rejectedBy(isThinking: boolean, { model }: Conversion): Rejects {
  if (model.family === 'openai') return name => name !== 'max_tokens'
  if (model.family !== 'claude') return name => name === 'top_k'
  // Claude rejects sampling settings from 4.7.
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

/** Returns the entries of `metadata` that Bedrock accepts as request metadata. */
function requestMetadata(metadata: unknown, { note }: Conversion): Json | undefined {
  if (!isRecord(metadata)) return undefined
  const accepted: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(metadata)) {
    const isAccepted = typeof value === 'string' && metadataKey.test(key) && metadataValue.test(value)
    if (isAccepted && Object.keys(accepted).length < maxMetadata) accepted[key] = value
    else if (value !== undefined && value !== null) note(`metadata.${key}`, 'dropped')
  }
  return Object.keys(accepted).length === 0 ? undefined : accepted
}

/** Output format: a field, or instructions for models that reject the field. */
interface OutputFormat {
  readonly outputConfig?: Json
  readonly instructions?: Json
}

/** Converts `output_config.format`, or the older `output_format`, for the model. */
function outputFormat(request: Json, conversion: Conversion): OutputFormat {
  const { output_config: config, output_format: older } = request
  for (const field of Object.keys(recordOf(config)))
    if (field !== 'effort' && field !== 'format') conversion.note(`output_config.${field}`, 'dropped')
  const format = recordOf(recordOf(config)['format'] ?? older)
  if (format['type'] !== 'json_schema') return {}
  const schema = JSON.stringify(format['schema'] ?? {})
  if (takesSchema(conversion)) {
    const jsonSchema = { schema, name: 'answer' }
    return { outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema } } } }
  }
  conversion.note('output_config.format', 'as_instruction')
  const prompt =
    'Answer with one JSON value that is valid against this JSON schema, and nothing else: no other text, no code fence.'
  return { instructions: { text: `${prompt}\n${schema}` } }
}

/** Returns true if the model supports output schemas. Bedrock rejects them for the newest and older Claude models. */
function takesSchema({ model }: Conversion): boolean {
  const { family } = model
  if (family === 'claude') return !(isClaudeBefore(model, 405) || isClaudeFrom(model, 407))
  return family === 'openai' || family === 'mistral' || family === 'other'
}
