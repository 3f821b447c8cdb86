import { openAiError } from '../../../contract/openai.ts'
import { listOf, recordOf } from '../../platform/json.ts'
import { chatUsageOf } from '../counting/chat-usage.ts'
import { createChatTap } from './chat-tap.ts'
import { openAiRequests } from './openai-request.ts'
import { countedOr, readJson } from './read-json.ts'
import type { Wire } from './wire.ts'

/** OpenAI's models that think. Servers of others send what they think. */
const thinking = /^(o\d|gpt-([5-9]|\d\d)(?!.*-chat))/

/**
 * Chat Completions. For Azure the base address is that of its v1 API, `https://<resource>.openai.azure.com/openai/v1`,
 * which asks for no `api-version`.
 */
export const openAiChat: Wire = {
  ...openAiRequests('/chat/completions'),
  createTap: createChatTap,
  readAnswer(body) {
    const { usage, choices } = recordOf(readJson(body))
    const [first] = listOf(choices).map(recordOf)
    const reason = first?.['finish_reason']
    return {
      usage: countedOr(chatUsageOf(usage), choices),
      stopReason: typeof reason === 'string' ? reason : undefined,
    }
  },
  hidesThinking: ({ deployment: { provider }, upstreamModel }) =>
    (provider === 'openai' || provider === 'azure') && thinking.test(upstreamModel),
  failure: ({ code, message }) => Buffer.from(`data: ${JSON.stringify(openAiError(code, message))}\n\n`),
}
