import { anthropicError } from '../../../contract/errors.ts'
import type { GoogleAccess } from '../../config/deployments.ts'
import { AppError } from '../../platform/errors.ts'
import { isRecord } from '../../platform/json.ts'
import { editTopLevel, joined } from '../bytes/body-edit.ts'
import { codeOfUpstreamStatus } from '../upstream/check-credential.ts'
import { anthropicHeaders } from '../upstream/headers.ts'
import { faultOf, readJson } from './answers.ts'
import { anthropicAnswers, withUpstreamModel } from './anthropic-messages.ts'
import { deniedOf } from './deny-table.ts'
import { withoutForeignThinking } from './foreign-thinking.ts'
import type { PassthroughCall, PassthroughFormat } from './passthrough-format.ts'

/**
 * Betas that clients send to Anthropic and that Vertex rejects with a 400. A deployment's `deny` table replaces this
 * one.
 */
const usuallyDenied = [
  'adaptive-thinking-2026-01-28',
  'advisor-tool-2026-03-01',
  'code-execution-2025-05-22',
  'code-execution-2025-08-25',
  'effort-2025-11-24',
  'fast-mode-2026-02-01',
  'files-api-2025-04-14',
  'fine-grained-tool-streaming-2025-05-14',
  'mcp-client-2025-04-04',
  'mcp-client-2025-11-20',
  'oauth-2025-04-20',
  'output-128k-2025-02-19',
  'prompt-caching-2024-07-31',
  'prompt-caching-scope-2026-01-05',
  'skills-2025-10-02',
  'structured-outputs-2025-11-13',
  'structured-outputs-2025-12-15',
  'token-efficient-tools-2025-02-19',
  'web-fetch-2025-09-10',
].map(name => `header:${name}`)

/** Betas that only the token counter rejects. */
const deniedForCounts = ['header:tool-search-tool-2025-10-19', 'header:web-search-2025-03-05']

/** Vertex names of betas that differ from Anthropic's. */
const otherNames: Readonly<Record<string, string>> = { 'advanced-tool-use-2025-11-20': 'tool-search-tool-2025-10-19' }

/** Claude on Vertex AI: the path names the model, the body holds the version. Betas stay in their header. */
export const vertexAnthropic: PassthroughFormat = {
  ...anthropicAnswers,
  request(attempt) {
    const { call, parsed, target } = attempt
    const isCount = call.kind === 'count_tokens'
    const received = isCount ? joined(withUpstreamModel(attempt)) : call.body
    const cleaned = withoutForeignThinking(received, { toClaude: true, members: parsed.members })
    const { 'anthropic-version': _version, 'anthropic-beta': given, ...headers } = anthropicHeaders(call)
    const table = target.deployment.deny ?? usuallyDenied
    const denied = deniedOf(renamed(given), isCount ? [...table, ...deniedForCounts] : table)
    const edited = editTopLevel(cleaned.body, {
      remove: isCount ? denied.fields : ['model', ...denied.fields],
      set: { anthropic_version: 'vertex-2023-10-16' },
    })
    const dropped = edited.removed.filter(path => path !== 'model')
    return {
      path: pathOf(attempt),
      headers: { ...headers, ...(denied.beta !== undefined && { 'anthropic-beta': denied.beta }) },
      body: edited.body,
      degraded: [...cleaned.degraded, ...denied.degraded, ...dropped.map(path => ({ path, action: 'dropped' }))],
    }
  },
  translateError: (body, { status, requestId }) => inEnvelope(body, status, requestId),
}

function pathOf({ call, parsed, target: { deployment, upstreamModel } }: PassthroughCall): string {
  const { project, location } = accessOf(deployment)
  const models = `/v1/projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(location)}/publishers/anthropic/models`
  if (call.kind === 'count_tokens') return `${models}/count-tokens:rawPredict`
  const model = encodeURIComponent(upstreamModel).replaceAll('%40', '@')
  return `${models}/${model}:${parsed.stream ? 'streamRawPredict' : 'rawPredict'}`
}

function accessOf({ id, google }: PassthroughCall['target']['deployment']): GoogleAccess {
  if (google) return google
  throw new AppError('upstream_unreachable', `deployment ${id} has no Vertex AI project and location`)
}

const renamed = (beta: string | undefined): string | undefined =>
  beta
    ?.split(',')
    .map(name => (Object.hasOwn(otherNames, name.trim()) ? otherNames[name.trim()] : name))
    .join(',')

/**
 * Puts Google's own errors, such as quota or permission, into Anthropic's envelope. Google's front end sends them in a
 * list.
 */
function inEnvelope(body: Buffer, status: number, requestId: string): Buffer {
  const parsed = readJson(body)
  const first = Array.isArray(parsed) ? parsed[0] : parsed
  if (isRecord(first) && first['type'] === 'error') return body
  const message = (isRecord(first) && faultOf(first).message) || `the upstream answered with status ${status}`
  return Buffer.from(JSON.stringify(anthropicError(codeOfUpstreamStatus(status), message, requestId)))
}
