import { openAiError } from '../../../contract/openai.ts'
import { sseFrame } from '../../../contract/sse.ts'
import { type Json, listOf, recordOf, recordsOf } from '../../platform/json.ts'
import { joined } from '../bytes/body-edit.ts'
import { baseModelOf } from '../core/call.ts'
import { inRequestedEncoding } from '../endpoints/embedding-formats.ts'
import { isFailedFinish } from '../formats/openai-chat/errors.ts'
import { estimateInputOf } from '../tokens/count-tokens.ts'
import { chatUsageIn, embeddingTokensOf, responsesUsageIn } from '../tokens/stated-usage.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { openAiHeaders } from '../upstream/headers.ts'
import { countedOr, declinesBy, faultOf, readJson, stopReasonOf } from './answers.ts'
import { withUpstreamModel } from './anthropic-messages.ts'
import { createChatTap } from './chat-tap.ts'
import { mayContainOwnItems, withoutOwnItems } from './own-items.ts'
import type { PassthroughFormat } from './passthrough-format.ts'
import { createResponsesTap } from './responses-tap.ts'

/** Common part of OpenAI's formats. `path` follows the base address, which ends in `/v1`. */
const openAiRequests = (path: string) =>
  ({
    request: attempt => ({
      path,
      headers: openAiHeaders(attempt.call),
      body: withUpstreamModel(attempt),
      degraded: [],
    }),
    estimateInput: body => estimateInputOf({ kind: 'chat', body, headers: {} }),
    ping: Buffer.from(': ping\n\n'),
    errorBody: ({ code, message }) => Buffer.from(JSON.stringify(openAiError(code, message))),
  }) as const satisfies Partial<PassthroughFormat>

/** OpenAI's reasoning models, which do not send their reasoning. Other providers' servers send it. */
const thinking = /^(o\d|gpt-([5-9]|\d\d)(?!.*-chat))/

/**
 * Chat Completions. For Azure the base address must be that of its v1 API,
 * `https://<resource>.openai.azure.com/openai/v1`, which needs no `api-version`.
 */
export const openAiChat: PassthroughFormat = {
  ...openAiRequests('/chat/completions'),
  createTap: createChatTap,
  readAnswer(body) {
    const answer = recordOf(readJson(body))
    const { choices } = answer
    const [first] = listOf(choices).map(recordOf)
    const reason = first?.['finish_reason']
    return {
      usage: countedOr(chatUsageIn(answer), choices),
      stopReason: typeof reason === 'string' ? reason : undefined,
    }
  },
  faultIn(body) {
    if (body.length > maxFailedLength || !unusualFinish.test(body.toString('latin1'))) return undefined
    const failed = recordsOf(recordOf(readJson(body))['choices']).find(choice =>
      isFailedFinish(choice['finish_reason']),
    )
    return failed && faultOf(failed)
  },
  declines: declinesBy(({ choices }) => {
    const given = recordsOf(choices)
    return given.length > 0 && given.every(isDeclinedChoice)
  }),
  hidesThinking(target) {
    const { provider, capabilities } = target.deployment
    const isOpenAi = provider === 'openai' || provider === 'azure'
    return isOpenAi && (capabilities?.reasoning ?? thinking.test(baseModelOf(target)))
  },
  failure: ({ code, message }) => Buffer.from(`data: ${JSON.stringify(openAiError(code, message))}\n\n`),
}

/** An answer that failed has little content; parsing a long one would delay it. */
const maxFailedLength = 64 * 1024
const unusualFinish = /"finish_reason"\s*:\s*"(?!stop"|length"|tool_calls")/

function isDeclinedChoice({ message, finish_reason: reason }: Json): boolean {
  const { content, tool_calls: calls, refusal } = recordOf(message)
  const hasContent = listOf(calls).length > 0 || (Array.isArray(content) ? content.length > 0 : Boolean(content))
  return !hasContent && (reason === 'content_filter' || Boolean(refusal))
}

/** Requests to OpenAI's Responses, without items that only models of other formats can read. */
const responseRequests = (path: string) => {
  const requests = openAiRequests(path)
  return {
    ...requests,
    request(attempt) {
      const request = requests.request(attempt)
      return mayContainOwnItems(attempt.call.body) ? { ...request, ...withoutOwnItems(joined(request.body)) } : request
    },
  } as const satisfies Partial<PassthroughFormat>
}

/** OpenAI's Responses. For Azure the base address must be that of its v1 API, as for Chat Completions. */
export const openAiResponses: PassthroughFormat = {
  ...responseRequests('/responses'),
  createTap: createResponsesTap,
  readAnswer(body) {
    const response = recordOf(readJson(body))
    return {
      usage: countedOr(responsesUsageIn(response), response['output']),
      stopReason: stopReasonOf(response),
    }
  },
  declines: declinesBy(response => {
    const items = recordsOf(response['output']).filter(({ type }) => type !== 'reasoning')
    const parts = items.flatMap(({ type, content }) => (type === 'message' ? recordsOf(content) : [{ type }]))
    const isEmpty = parts.length === 0 && stopReasonOf(response) === 'content_filter'
    return isEmpty || (parts.length > 0 && parts.every(({ type }) => type === 'refusal'))
  }),
  failure({ code, message }, frames) {
    const { error } = openAiError(code, message)
    // This format numbers its events from 0.
    const data = { type: 'error', code: error.code, message, param: null, sequence_number: frames }
    return Buffer.from(sseFrame({ event: 'error', data: JSON.stringify(data) }))
  },
}

/** OpenAI's token counts for a Responses request: free, never streamed. */
export const openAiResponseCounts: PassthroughFormat = {
  ...openAiResponses,
  ...responseRequests('/responses/input_tokens'),
  readAnswer: () => ({ usage: noTokens, stopReason: undefined }),
}

/** OpenAI's compaction of a conversation: never streamed, with an opaque response. */
export const openAiCompactions: PassthroughFormat = {
  ...openAiResponses,
  ...responseRequests('/responses/compact'),
  declines: () => false,
}

/** OpenAI's embeddings: never streamed, without output tokens. */
export const openAiEmbeddings: PassthroughFormat = {
  ...openAiRequests('/embeddings'),
  createTap: createChatTap,
  declines: () => false,
  failure: openAiChat.failure,
  translateAnswer: ({ body: request }, answer) => inRequestedEncoding(request, answer),
  readAnswer(body) {
    const tokens = embeddingTokensOf(recordOf(readJson(body))['usage'])
    return { usage: { ...noTokens, input_tokens: tokens ?? 0, estimated: tokens === undefined }, stopReason: undefined }
  },
}
