import type { ErrorCode } from '../../../contract/error-codes.ts'
import { anthropicError } from '../../../contract/errors.ts'
import { recordOf } from '../../platform/json.ts'
import { editTopLevel } from '../bytes/body-edit.ts'
import { baseModelOf } from '../core/call.ts'
import { tokenCount } from '../tokens/token-counts.ts'
import {
  type BedrockModel,
  bedrockMessage,
  bedrockModel,
  isClaudeBefore,
  isClaudeFrom,
  modelPath,
} from '../upstream/bedrock.ts'
import { codeOfUpstreamStatus } from '../upstream/check-credential.ts'
import { anthropicHeaders } from '../upstream/headers.ts'
import { readJson } from './answers.ts'
import { anthropicAnswers } from './anthropic-messages.ts'
import { createBedrockUnwrap } from './bedrock-unwrap.ts'
import { deniedOf } from './deny-table.ts'
import { withoutForeignThinking } from './foreign-thinking.ts'
import type { PassthroughCall, PassthroughFormat, PassthroughRequest } from './passthrough-format.ts'

/** Claude on Amazon Bedrock through InvokeModel: the path names the model, the body holds version and betas. */
export const bedrockInvoke: PassthroughFormat = {
  ...anthropicAnswers,
  request(attempt) {
    const { call, parsed, target } = attempt
    const { body, degraded } = invokeBody(attempt)
    const isCount = call.kind === 'count_tokens'
    const operation = parsed.stream ? 'invoke-with-response-stream' : 'invoke'
    const {
      'content-type': type = '',
      'accept-encoding': encoding = '',
      'user-agent': agent = '',
    } = anthropicHeaders(call)
    return {
      path: modelPath(target.upstreamModel, isCount ? 'count-tokens' : operation),
      headers: { 'content-type': type, 'accept-encoding': encoding, 'user-agent': agent },
      body: isCount ? countBody(body) : body,
      degraded,
    }
  },
  streamType: 'application/vnd.amazon.eventstream',
  createUnwrap: createBedrockUnwrap,
  translateCount: body => {
    const count = tokenCount(recordOf(readJson(body))['inputTokens'])
    return count !== undefined ? Buffer.from(JSON.stringify({ input_tokens: count })) : body
  },
  translateError: (body, { status, requestId }) => {
    const message = bedrockMessage(readJson(body) ?? body.toString()) ?? `Amazon Bedrock answered with status ${status}`
    return Buffer.from(JSON.stringify(anthropicError(codeOf(status), message, requestId)))
  },
}

/** Adds the fields that Bedrock requires to the received body and removes those that it rejects. */
function invokeBody({
  call,
  parsed,
  target,
}: PassthroughCall): Pick<PassthroughRequest, 'degraded'> & { readonly body: Buffer } {
  const model = bedrockModel(baseModelOf(target))
  const cleaned = withoutForeignThinking(call.body, { toClaude: true, members: parsed.members })
  const betas = bedrockBetas(anthropicHeaders(call)['anthropic-beta'], cleaned.body)
  const denied = deniedOf(betas, target.deployment.deny ?? usuallyDenied(model))
  const list = betaList(denied.beta, ownBetas(cleaned.body))
  const isUnbounded = call.kind === 'count_tokens' && parsed.maxTokens === 0
  const edited = editTopLevel(cleaned.body, {
    remove: ['model', 'stream', ...denied.fields.filter(field => mayContain(cleaned.body, field))],
    set: {
      anthropic_version: 'bedrock-2023-05-31',
      ...(list.length > 0 && { anthropic_beta: list }),
      // The counter requires max_tokens above the thinking budget; the value does not change the count.
      ...(isUnbounded && { max_tokens: isClaudeBefore(model, 307) ? 4_096 : 64_000 }),
    },
  })
  const dropped = edited.removed.filter(path => path !== 'model' && path !== 'stream')
  return {
    body: edited.body,
    degraded: [...cleaned.degraded, ...denied.degraded, ...dropped.map(path => ({ path, action: 'dropped' }))],
  }
}

/** False when the last key of a path is not in the body: this avoids parsing the body for nested paths. */
const mayContain = (body: Buffer, field: string): boolean =>
  !field.includes('.') || body.includes(`"${field.slice(field.lastIndexOf('.') + 1)}"`)

/** Returns the betas in the body, where Bedrock's own clients put them. */
const ownBetas = (body: Buffer): unknown =>
  body.includes('"anthropic_beta"') ? recordOf(readJson(body))['anthropic_beta'] : undefined

const countBody = (body: Buffer): Buffer =>
  Buffer.from(JSON.stringify({ input: { invokeModel: { body: body.toString('base64') } } }))

const codeOf = (status: number): ErrorCode => (status === 424 ? 'upstream_unreachable' : codeOfUpstreamStatus(status))

const toolSearch = 'tool-search-tool-2025-10-19'

/** Start of the type of a tool that searches for tools. */
const toolSearchType = Buffer.from('tool_search_tool_')

/**
 * Returns the betas of a request under Bedrock's names. Bedrock supports only the tool search of Anthropic's beta for
 * advanced tool use, under a separate name.
 */
function bedrockBetas(beta: string | undefined, body: Buffer): string | undefined {
  if (beta === undefined || !body.includes(toolSearchType)) return beta
  return beta
    .split(',')
    .map(name => (name.trim() === 'advanced-tool-use-2025-11-20' ? toolSearch : name))
    .join(',')
}

/** Returns the values of the body's `anthropic_beta`: those of the body first, then those of the header. */
function betaList(beta: string | undefined, given: unknown): readonly string[] {
  const own = (Array.isArray(given) ? given : []).filter(name => typeof name === 'string')
  const names = (beta ?? '').split(',').map(name => name.trim())
  return [...new Set([...own, ...names])].filter(name => name !== '')
}

/** Betas that clients send to Anthropic and that Bedrock rejects with "invalid beta flag". */
const betas = [
  'advanced-tool-use-2025-11-20',
  'advisor-tool-2026-03-01',
  'claude-code-20250219',
  'code-execution-2025-05-22',
  'code-execution-2025-08-25',
  'context-management-2025-06-27',
  'extended-cache-ttl-2025-04-11',
  'fast-mode-2026-02-01',
  'files-api-2025-04-14',
  'mcp-client-2025-04-04',
  'mcp-client-2025-11-20',
  'mcp-servers-2025-12-04',
  'oauth-2025-04-20',
  'output-128k-2025-02-19',
  'per-turn-control-2026-07-01',
  'prompt-caching-2024-07-31',
  'prompt-caching-scope-2026-01-05',
  'redact-thinking-2026-02-12',
  'skills-2025-10-02',
  'token-efficient-tools-2025-02-19',
  'token-efficient-tools-2026-03-28',
  'web-fetch-2025-09-10',
  'web-search-2025-03-05',
]

const structuredOutputs = ['structured-outputs-2025-11-13', 'structured-outputs-2025-12-15']

/** Fields that Bedrock rejects with "Extra inputs are not permitted" for every model. */
const fields = [
  'cache_control',
  'container',
  'context_management',
  'inference_geo',
  'mcp_servers',
  'output_format',
  'service_tier',
  'speed',
]

const marks = ['system', 'tools', 'messages.content', 'messages.content.content'].map(path => `${path}.cache_control`)

/** Returns what Bedrock rejects for a model today. A deployment's `deny` table replaces this one. */
function usuallyDenied(model: BedrockModel): readonly string[] {
  const isNewest = isClaudeFrom(model, 407)
  const isOld = isClaudeBefore(model, 405)
  return [
    ...betas.map(headerEntry),
    ...fields,
    ...marks.map(mark => `${mark}.scope`),
    // Bedrock supports structured outputs for some model versions only.
    ...(isNewest || isOld ? [...structuredOutputs.map(headerEntry), 'output_config.format', 'tools.strict'] : []),
    ...(isOld ? [...marks.map(mark => `${mark}.ttl`)] : []),
    ...effortEntries(model),
  ]
}

const headerEntry = (beta: string): string => `header:${beta}`

/** Opus 4.5 accepts `effort` with its beta, 4.6 and later without it; older models reject it. */
function effortEntries(model: BedrockModel): readonly string[] {
  if (isClaudeFrom(model, 406)) return [headerEntry('effort-2025-11-24')]
  const isOpus45 = model.line === 'opus' && model.version === 405
  return isOpus45 || model.version === undefined ? [] : [headerEntry('effort-2025-11-24'), 'output_config.effort']
}
