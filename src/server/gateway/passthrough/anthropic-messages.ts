import { anthropicError } from '../../../contract/errors.ts'
import { recordsOf, textOf } from '../../platform/json.ts'
import { editTopLevel, joined, type Parts, spliceString } from '../bytes/body-edit.ts'
import { isClaude } from '../formats/shared/model-traits.ts'
import { anthropicHeaders, forwardedQuery } from '../upstream/headers.ts'
import { declinesBy, usageOfAnswer } from './answers.ts'
import { deniedOf } from './deny-table.ts'
import { mayContainForeignThinking, withoutForeignThinking } from './foreign-thinking.ts'
import type { PassthroughCall, PassthroughFormat, PassthroughRequest } from './passthrough-format.ts'
import { errorFrame, pingFrame } from './stream-relay.ts'
import { createUsageTap } from './usage-tap.ts'

/** Response side of every upstream that responds in Anthropic's format. */
export const anthropicAnswers = {
  createTap: createUsageTap,
  readAnswer: usageOfAnswer,
  declines: declinesBy(
    ({ stop_reason: reason, content }) =>
      reason === 'refusal' && recordsOf(content).every(({ type }) => /^(redacted_)?thinking$/.test(textOf(type))),
  ),
  ping: pingFrame,
  failure: errorFrame,
  errorBody: ({ code, message, requestId }) => Buffer.from(JSON.stringify(anthropicError(code, message, requestId))),
} as const satisfies Omit<PassthroughFormat, 'request'>

const paths = { messages: '/v1/messages', count_tokens: '/v1/messages/count_tokens' } as const

/** Anthropic's own API and compatible servers. */
export const anthropicMessages: PassthroughFormat = {
  ...anthropicAnswers,
  request(attempt) {
    const { call, parsed, target } = attempt
    const path = `${call.kind === 'count_tokens' ? paths.count_tokens : paths.messages}${forwardedQuery(call.query)}`
    const headers = anthropicHeaders(call)
    const { deny } = target.deployment
    const body = withUpstreamModel(attempt)
    const options = { toClaude: isClaude(target), members: parsed.members }
    if (deny === undefined && !mayContainForeignThinking(call.body, options))
      return { path, headers, body, degraded: [] }
    const cleaned = withoutForeignThinking(joined(body), options)
    return deny === undefined
      ? { path, headers, ...cleaned }
      : { path, ...withoutDenied({ headers, ...cleaned }, deny) }
  },
}

/** Returns the received body; where the alias maps to another name, with the upstream's model name in it. */
export const withUpstreamModel = ({ call, parsed, target }: PassthroughCall): Parts =>
  target.upstreamModel === parsed.model ? call.body : spliceString(call.body, parsed.modelSpan, target.upstreamModel)

function withoutDenied(
  { headers, body, degraded }: Omit<PassthroughRequest, 'path'> & { readonly body: Buffer },
  table: readonly string[],
): Omit<PassthroughRequest, 'path'> {
  const { 'anthropic-beta': given, ...others } = headers
  const denied = deniedOf(given, table)
  const edited = editTopLevel(body, { remove: denied.fields })
  return {
    headers: { ...others, ...(denied.beta !== undefined && { 'anthropic-beta': denied.beta }) },
    body: edited.body,
    degraded: [...degraded, ...denied.degraded, ...edited.removed.map(path => ({ path, action: 'dropped' }))],
  }
}
