import { openAiError } from '../../../contract/openai.ts'
import { recordOf } from '../../platform/json.ts'
import { estimateInputTokens } from '../counting/estimate.ts'
import { openAiHeaders } from '../upstream/headers.ts'
import { withUpstreamModel } from './anthropic-messages.ts'
import type { Wire } from './wire.ts'

/** What OpenAI's formats have in common; `path` stands behind the base address, which ends in `/v1`. */
export const openAiRequests = (path: string) =>
  ({
    request: attempt => ({
      path,
      headers: openAiHeaders(attempt.call),
      body: withUpstreamModel(attempt),
      degraded: [],
    }),
    estimateInput,
    ping: Buffer.from(': ping\n\n'),
    errorBody: ({ code, message }) => Buffer.from(JSON.stringify(openAiError(code, message))),
  }) as const satisfies Partial<Wire>

/** About the length of text that costs as much as a large image. */
const imageText = 'x'.repeat(5_600)

/** A guess at the input tokens of a request in one of OpenAI's formats, for servers that state no usage. */
function estimateInput(body: Buffer): number {
  const { messages, input, instructions, tools } = recordOf(JSON.parse(body.toString('utf8'), withoutData))
  return estimateInputTokens({ system: instructions, messages: messages ?? input, tools })
}

/** Images and files come as text that the model never reads as such. */
const withoutData = (key: string, value: unknown): unknown =>
  typeof value === 'string' && (value.startsWith('data:') || key === 'file_data' || key === 'data') ? imageText : value
