import { type BedrockModel, isClaudeBefore, isClaudeFrom } from '../upstream/bedrock-models.ts'

/** Betas that clients send to Anthropic and that Bedrock answers with "invalid beta flag". */
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

/** Fields that Bedrock answers with "Extra inputs are not permitted", whatever the model. */
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

/** What Bedrock refuses for a model today. A deployment's own table stands in place of this one. */
export function usuallyDenied(model: BedrockModel): readonly string[] {
  const isNewest = isClaudeFrom(model, 407)
  const isOld = isClaudeBefore(model, 405)
  return [
    ...betas.map(headerEntry),
    ...fields,
    ...marks.map(mark => `${mark}.scope`),
    // Bedrock's own copy of the format knows structured outputs for some versions only.
    ...(isNewest || isOld ? [...structuredOutputs.map(headerEntry), 'output_config.format', 'tools.strict'] : []),
    ...(isOld ? [...marks.map(mark => `${mark}.ttl`)] : []),
    ...effortEntries(model),
  ]
}

const headerEntry = (beta: string): string => `header:${beta}`

/** Opus 4.5 takes an effort with its beta, 4.6 and later without, and older ones take none. */
function effortEntries(model: BedrockModel): readonly string[] {
  if (isClaudeFrom(model, 406)) return [headerEntry('effort-2025-11-24')]
  const isOpus45 = model.line === 'opus' && model.version === 405
  return isOpus45 || model.version === undefined ? [] : [headerEntry('effort-2025-11-24'), 'output_config.effort']
}
