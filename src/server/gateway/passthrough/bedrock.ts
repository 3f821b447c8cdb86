import { awsErrorType } from '../../../contract/aws.ts'
import { type Json, recordOf, textIn } from '../../platform/json.ts'
import { awsException } from '../bytes/aws-event-stream.ts'
import type { UsageUpdate } from '../core/answer-event.ts'
import { converseUsage } from '../formats/bedrock-converse/read-answer.ts'
import { estimateInputOf } from '../tokens/count-tokens.ts'
import { tokenCount } from '../tokens/token-counts.ts'
import { modelPath } from '../upstream/bedrock.ts'
import { bedrockHeaders } from '../upstream/headers.ts'
import { countedOr, readJson } from './answers.ts'
import { createConverseTap, createInvokeTap } from './bedrock-tap.ts'
import type { PassthroughFormat } from './passthrough-format.ts'

/** Common part of Bedrock's own formats: the path names the model, and streams use AWS event-stream framing. */
const bedrockWire = (operation: string, streamed: string) =>
  ({
    request: ({ call, parsed, target }) => ({
      path: modelPath(target.upstreamModel, parsed.stream ? streamed : operation),
      headers: bedrockHeaders(call),
      body: call.body,
      degraded: [],
    }),
    streamType: 'application/vnd.amazon.eventstream',
    keepsFraming: true,
    relays: /^x-amzn-(bedrock-.*|errortype|requestid)$/,
    // AWS event streams have no event that clients ignore.
    ping: Buffer.alloc(0),
    declines: () => false,
    failure: ({ code, message }) => {
      const type = awsErrorType(code)
      return awsException(`${type[0]?.toLowerCase()}${type.slice(1)}`, message)
    },
    errorBody: ({ message }) => Buffer.from(JSON.stringify({ message })),
  }) as const satisfies Partial<PassthroughFormat>

/** Bedrock's Converse: one format for all models. */
export const conversePassthrough: PassthroughFormat = {
  ...bedrockWire('converse', 'converse-stream'),
  estimateInput: body => estimateInputOf({ kind: 'converse', body, headers: {} }),
  createTap: createConverseTap,
  readAnswer(body) {
    const { output, stopReason, usage } = recordOf(readJson(body))
    return { usage: countedOr(converseUsage(usage), output), stopReason: textIn(stopReason) }
  },
}

/** Bedrock's InvokeModel: each model family has its own format. */
export const invokePassthrough: PassthroughFormat = {
  ...bedrockWire('invoke', 'invoke-with-response-stream'),
  estimateInput: body => estimateInputOf({ kind: 'invoke', body, headers: {} }),
  createTap: createInvokeTap,
  readAnswer(body) {
    const answer = recordOf(readJson(body))
    const reason = answer['stop_reason'] ?? answer['stopReason']
    return { usage: countedOr(statedIn(answer), answer), stopReason: textIn(reason) }
  },
}

/**
 * Returns the counts of any family: Claude and OpenAI use `usage`, Nova the fields of Converse, Llama and Titan
 * top-level ones.
 */
function statedIn(answer: Json): UsageUpdate {
  const usage = recordOf(answer['usage'])
  const input = [
    usage['input_tokens'],
    usage['prompt_tokens'],
    answer['prompt_token_count'],
    answer['inputTextTokenCount'],
  ]
  const output = [usage['output_tokens'], usage['completion_tokens'], answer['generation_token_count']]
  const counts = {
    input_tokens: first(input),
    output_tokens: first(output),
    cache_read_tokens: tokenCount(usage['cache_read_input_tokens']),
    cache_write_5m_tokens: tokenCount(usage['cache_creation_input_tokens']),
  }
  const stated = Object.entries(counts).filter(([, count]) => count !== undefined)
  return { ...converseUsage(usage), ...(Object.fromEntries(stated) as UsageUpdate) }
}

const first = (values: readonly unknown[]): number | undefined =>
  values.map(tokenCount).find(count => count !== undefined)
