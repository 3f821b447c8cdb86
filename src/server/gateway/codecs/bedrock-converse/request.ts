import { invalid } from '../../../platform/errors.ts'
import { compact, isRecord, type Json } from '../../../platform/json.ts'
import type { AnthropicRequest, CodecContext, UpstreamRequest } from '../../translated/codec.ts'
import { modelPath } from '../../upstream/bedrock-models.ts'
import { limitCachePoints, type Sections } from './cache-points.ts'
import { blocksOf, type Conversion, startConversion } from './conversion.ts'
import { outputFormat } from './output-format.ts'
import { requestMetadata, samplingOf } from './settings.ts'
import { thinkingSettings } from './thinking.ts'
import { toolSettings } from './tool-config.ts'
import { rememberToolNames } from './tool-identity.ts'
import { toolBlocks, toolNames } from './tools.ts'
import { converted, instructionBlocks, withLastPoint } from './turns.ts'

/** Fields that are read in one of the files beside this one, or that say what is the case anyway. */
const known = new Set([
  ...['model', 'messages', 'system', 'max_tokens', 'stream', 'tools', 'tool_choice', 'cache_control', 'metadata'],
  ...['temperature', 'top_p', 'top_k', 'stop_sequences', 'thinking', 'output_config', 'output_format'],
])

/** A request in Anthropic's format for Converse or ConverseStream. */
export function converseRequest(request: AnthropicRequest, context: CodecContext): UpstreamRequest {
  const conversion = startConversion(context)
  const { body } = converseBody(request, context, conversion)
  listUnknown(request, conversion)
  const operation = context.stream ? 'converse-stream' : 'converse'
  return { path: modelPath(context.upstreamModel, operation), body, degraded: conversion.degraded }
}

/** A request for Bedrock's own token counter, with all that is counted. */
export function countRequest(request: AnthropicRequest, context: CodecContext): UpstreamRequest {
  const conversion = startConversion(context)
  const { messages, system, toolConfig, additionalModelRequestFields } = converseBody(request, context, conversion).body
  const converse = compact({ messages, system, toolConfig, additionalModelRequestFields })
  const path = modelPath(context.upstreamModel, 'count-tokens')
  return { path, body: { input: { converse } }, degraded: [] }
}

function converseBody(request: Json, context: CodecContext, conversion: Conversion): { readonly body: Json } {
  refuseServers(request['mcp_servers'])
  const format = outputFormat(request, conversion)
  const { system, messages, tools } = limitCachePoints(sectionsOf(request, conversion), conversion)
  rememberToolNames(context, toolNames(request['tools']))
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

/** The parts of a prompt that may hold cache points, in Anthropic's order of precedence. */
function sectionsOf(request: Json, conversion: Conversion): Sections {
  const tools = toolBlocks(request['tools'], conversion)
  const own = blocksOf(request['system'], 'system').flatMap(placed => instructionBlocks(placed, 'system', conversion))
  const { opening, messages } = converted(request['messages'], conversion)
  if (messages.length === 0) throw invalid('messages has no content that this model takes')
  return {
    tools,
    system: [...own, ...opening],
    messages: withLastPoint(messages, request['cache_control'], conversion),
  }
}

/** Which string ended the answer is known to Claude only. */
function stopFields({ stopSequences }: Json, { model }: Conversion): readonly string[] | undefined {
  const isTold = stopSequences !== undefined && model.family === 'claude'
  return isTold ? ['/stop_sequence', '/delta/stop_sequence'] : undefined
}

function refuseServers(servers: unknown): void {
  if (Array.isArray(servers) && servers.length > 0)
    throw invalid('mcp_servers: the Converse API of Amazon Bedrock cannot call MCP servers')
}

function listUnknown(request: Json, { note }: Conversion): void {
  for (const [field, value] of Object.entries(request)) {
    const isPlainTier = field === 'service_tier' && (value === 'auto' || value === 'standard_only')
    if (!known.has(field) && !isPlainTier && !isEmpty(value)) note(field, 'dropped')
  }
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (Array.isArray(value) && value.length === 0) ||
  (isRecord(value) && Object.keys(value).length === 0)
