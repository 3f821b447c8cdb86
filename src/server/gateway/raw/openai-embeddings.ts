import { recordOf } from '../../platform/json.ts'
import { chatUsageOf } from '../counting/chat-usage.ts'
import { noTokens } from '../counting/token-counts.ts'
import { createChatTap } from './chat-tap.ts'
import { openAiChat } from './openai-chat.ts'
import { openAiRequests } from './openai-request.ts'
import { readJson } from './read-json.ts'
import type { Wire } from './wire.ts'

/** OpenAI's embeddings: never streamed, and without output tokens. */
export const openAiEmbeddings: Wire = {
  ...openAiRequests('/embeddings'),
  createTap: createChatTap,
  failure: openAiChat.failure,
  readAnswer(body) {
    const stated = chatUsageOf(recordOf(readJson(body))['usage'])
    return { usage: { ...noTokens, ...stated, estimated: stated === undefined }, stopReason: undefined }
  },
}
