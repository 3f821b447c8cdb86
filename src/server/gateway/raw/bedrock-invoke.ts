import { anthropicError, type ErrorCode } from '../../../contract/errors.ts'
import { recordOf } from '../../platform/json.ts'
import type { Attempt } from '../call.ts'
import { tokenCount } from '../counting/token-counts.ts'
import { bedrockMessage } from '../upstream/bedrock-errors.ts'
import { bedrockModel, isClaudeBefore, modelPath } from '../upstream/bedrock-models.ts'
import { codeOfUpstreamStatus } from '../upstream/code-of-status.ts'
import { anthropicHeaders } from '../upstream/headers.ts'
import { anthropicAnswers } from './anthropic-messages.ts'
import { bedrockBetas, betaList } from './bedrock-betas.ts'
import { usuallyDenied } from './bedrock-denied.ts'
import { createBedrockUnwrap } from './bedrock-unwrap.ts'
import { editTopLevel } from './body-edit.ts'
import { deniedOf } from './deny-table.ts'
import { withoutForeignThinking } from './foreign-thinking.ts'
import { readJson } from './read-json.ts'
import type { Wire, WireRequest } from './wire.ts'

/** Claude on Amazon Bedrock by InvokeModel: the model stands in the path, version and betas in the body. */
export const bedrockInvoke: Wire = {
  ...anthropicAnswers,
  request(attempt) {
    const { call, ask, target } = attempt
    const { body, degraded } = invokeBody(attempt)
    const isCount = call.kind === 'count_tokens'
    const operation = ask.stream ? 'invoke-with-response-stream' : 'invoke'
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

/** The received body with what Bedrock wants in it and without what it refuses; all else stays as it came. */
function invokeBody({ call, ask, target }: Attempt): Pick<WireRequest, 'degraded'> & { readonly body: Buffer } {
  const model = bedrockModel(target.upstreamModel)
  const cleaned = withoutForeignThinking(call.body, { toClaude: true })
  const betas = bedrockBetas(anthropicHeaders(call)['anthropic-beta'], cleaned.body)
  const denied = deniedOf(betas, target.deployment.deny ?? usuallyDenied(model))
  const list = betaList(denied.beta, ownBetas(cleaned.body))
  const isUnbounded = call.kind === 'count_tokens' && ask.maxTokens === 0
  const edited = editTopLevel(cleaned.body, {
    remove: ['model', 'stream', ...denied.fields.filter(field => mayHold(cleaned.body, field))],
    set: {
      anthropic_version: 'bedrock-2023-05-31',
      ...(list.length > 0 && { anthropic_beta: list }),
      // Its counter wants one, and more than a budget for thinking; it changes no count.
      ...(isUnbounded && { max_tokens: isClaudeBefore(model, 307) ? 4_096 : 64_000 }),
    },
  })
  const dropped = edited.removed.filter(path => path !== 'model' && path !== 'stream')
  return {
    body: edited.body,
    degraded: [...cleaned.degraded, ...denied.degraded, ...dropped.map(path => ({ path, action: 'dropped' }))],
  }
}

/** False for a path whose last step stands nowhere in the body: looking for it would mean to read all of it. */
const mayHold = (body: Buffer, field: string): boolean =>
  !field.includes('.') || body.includes(`"${field.slice(field.lastIndexOf('.') + 1)}"`)

/** Betas that a client put into the body, as Bedrock's own clients do. */
const ownBetas = (body: Buffer): unknown =>
  body.includes('"anthropic_beta"') ? recordOf(readJson(body))['anthropic_beta'] : undefined

const countBody = (body: Buffer): Buffer =>
  Buffer.from(JSON.stringify({ input: { invokeModel: { body: body.toString('base64') } } }))

const codeOf = (status: number): ErrorCode => (status === 424 ? 'upstream_unreachable' : codeOfUpstreamStatus(status))
