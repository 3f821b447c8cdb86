import { openAiError } from '../../../contract/openai.ts'
import { estimateInputOf } from '../counting/estimate-of-kind.ts'
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
    estimateInput: body => estimateInputOf('chat', body),
    ping: Buffer.from(': ping\n\n'),
    errorBody: ({ code, message }) => Buffer.from(JSON.stringify(openAiError(code, message))),
  }) as const satisfies Partial<Wire>
