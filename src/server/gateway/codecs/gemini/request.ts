import { isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'
import type { AnthropicRequest, CodecContext, UpstreamRequest } from '../../translated/codec.ts'
import { geminiPath, geminiResource } from '../../upstream/gemini-path.ts'
import { contentsOf } from './contents.ts'
import { generationConfigOf } from './generation-config.ts'
import { Losses } from './losses.ts'
import { traitsOf } from './model-traits.ts'
import { toolsOf } from './tools.ts'

/** Fields that have a place of their own, or that are said by the path. */
const handled = new Set([
  'cache_control',
  'max_tokens',
  'messages',
  'model',
  'output_config',
  'output_format',
  'stop_sequences',
  'stream',
  'system',
  'temperature',
  'thinking',
  'tool_choice',
  'tools',
  'top_k',
  'top_p',
])

/** What goes to `generateContent` or `streamGenerateContent`. */
export function geminiRequest(request: AnthropicRequest, context: CodecContext): UpstreamRequest {
  const { body, losses } = bodyOf(request, context)
  const method = context.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return { path: geminiPath(context, method), body, degraded: losses.list }
}

/** What goes to `countTokens`: all that the model reads. */
export function countRequest(request: AnthropicRequest, context: CodecContext): UpstreamRequest {
  const { body, losses } = bodyOf(request, context)
  const { contents, systemInstruction, tools } = body
  const read = { contents, ...(systemInstruction ? { systemInstruction } : {}), ...(tools ? { tools } : {}) }
  const whole = { generateContentRequest: { model: geminiResource(context.upstreamModel), ...read } }
  return {
    path: geminiPath(context, 'countTokens'),
    body: context.deployment.google ? read : whole,
    degraded: losses.list,
  }
}

function bodyOf(request: AnthropicRequest, context: CodecContext): { body: Json; losses: Losses } {
  const losses = new Losses()
  const traits = traitsOf(context.upstreamModel)
  const options = { context, traits, losses }
  noteOthers(request, losses)
  const tools = toolsOf(request, options)
  const generationConfig = generationConfigOf(request, { ...options, hasTools: tools['tools'] !== undefined })
  const system = systemParts(request['system'], losses)
  const body = {
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    contents: contentsOf(request, options),
    ...tools,
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
  }
  return { body, losses }
}

function noteOthers(request: AnthropicRequest, losses: Losses): void {
  losses.markCache(request)
  for (const [field, value] of Object.entries(request)) {
    if (!handled.has(field) && value !== undefined && value !== null) losses.note(field, 'dropped')
  }
}

function systemParts(system: unknown, losses: Losses): readonly Json[] {
  if (typeof system === 'string') return system === '' ? [] : [{ text: system }]
  const parts: Json[] = []
  for (const [index, block] of (Array.isArray(system) ? system : []).entries()) {
    if (isRecord(block)) losses.markCache(block)
    const text = isRecord(block) ? nonEmptyText(block['text']) : undefined
    if (text !== undefined) parts.push({ text })
    else if (!isRecord(block) || block['type'] !== 'text') losses.note(`system.${index}`, 'dropped')
  }
  return parts
}
