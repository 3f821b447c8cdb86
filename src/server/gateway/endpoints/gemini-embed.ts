import { isRecord, recordOf } from '../../platform/json.ts'
import { parsedObject } from '../core/request-checks.ts'
import { readJson } from '../passthrough/answers.ts'
import { geminiPassthrough } from '../passthrough/gemini.ts'
import type { PassthroughCall, PassthroughFormat } from '../passthrough/passthrough-format.ts'
import { estimateInputOf } from '../tokens/count-tokens.ts'
import { noTokens, tokenCount } from '../tokens/token-counts.ts'
import { ownHeaders, traceOf } from '../upstream/headers.ts'
import { geminiPath, geminiResource } from '../upstream/paths.ts'

/** Google's `embedContent` and `batchEmbedContents`, at Google. */
export const geminiEmbedPassthrough: PassthroughFormat = {
  ...geminiPassthrough,
  request: attempt => ({
    path: geminiPath(attempt.target, attempt.call.kind === 'gemini_embed' ? 'embedContent' : 'batchEmbedContents'),
    headers: { ...ownHeaders, ...traceOf(attempt.call) },
    body: withUpstreamName(attempt),
    degraded: [],
  }),
  estimateInput: body => estimateInputOf({ kind: 'gemini_embed', body, headers: {} }),
  readAnswer(body) {
    const tokens = tokenCount(recordOf(recordOf(readJson(body))['usageMetadata'])['promptTokenCount'])
    return { usage: { ...noTokens, input_tokens: tokens ?? 0, estimated: tokens === undefined }, stopReason: undefined }
  },
}

/** Google requires the model of the path in the body too, so an alias must be replaced there. */
function withUpstreamName({ call, parsed, target }: PassthroughCall): Buffer {
  if (target.upstreamModel === parsed.model) return call.body
  const body = parsedObject(call.body)
  const model = geminiResource(target.upstreamModel)
  const named = <T>(request: T): T => (isRecord(request) && 'model' in request ? { ...request, model } : request)
  const requests = body['requests']
  return Buffer.from(JSON.stringify(named(Array.isArray(requests) ? { ...body, requests: requests.map(named) } : body)))
}
