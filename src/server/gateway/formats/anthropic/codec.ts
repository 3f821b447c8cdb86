import { codeOfStatus, type ErrorCode } from '../../../../contract/errors.ts'
import type { Protocol } from '../../../config/config.ts'
import { compact, recordOf, textIn } from '../../../platform/json.ts'
import type { Parts } from '../../bytes/body-edit.ts'
import type { CallKind } from '../../core/call.ts'
import type {
  CanonicalRequest,
  Codec,
  CodecContext,
  StreamDecoder,
  UpstreamProblem,
  UpstreamRequest,
} from '../../core/codec.ts'
import { reasonOfText } from '../../passthrough/answers.ts'
import { anthropicMessages } from '../../passthrough/anthropic-messages.ts'
import { bedrockInvoke } from '../../passthrough/bedrock-invoke.ts'
import { bedrockEvent } from '../../passthrough/bedrock-unwrap.ts'
import { vertexAnthropic } from '../../passthrough/vertex-anthropic.ts'
import type { Wire } from '../../passthrough/wire.ts'
import { tokenCount } from '../../tokens/token-counts.ts'
import { bedrockMessage } from '../../upstream/bedrock.ts'
import { AnthropicDecoder, messageEvents } from './read-answer.ts'

type AnthropicProtocol = Extract<Protocol, 'anthropic-messages' | 'vertex-anthropic' | 'bedrock-invoke'>

interface Adapter {
  readonly protocol: AnthropicProtocol
  /** The format's adapter of passthrough: it knows paths, headers and what the upstream refuses. */
  readonly wire: Wire
  readonly framing?: Codec['framing']
  readonly decoder?: () => StreamDecoder
}

/** A protocol whose requests are canonical ones: all that is left to do is what passthrough does to them as well. */
function anthropicCodec({ protocol, wire, framing = 'sse', decoder = () => new AnthropicDecoder() }: Adapter): Codec {
  const prepared =
    (kind: CallKind) =>
    (
      request: CanonicalRequest,
      { deployment, upstreamModel, stream, clientHeaders = {} }: CodecContext,
    ): UpstreamRequest<Parts> =>
      wire.request({
        call: {
          kind,
          body: Buffer.from(JSON.stringify({ ...request, model: upstreamModel })),
          headers: clientHeaders,
          query: '',
        },
        ask: {
          model: upstreamModel,
          modelSpan: nowhere,
          stream,
          maxTokens: tokenCount(request['max_tokens']) ?? 0,
        },
        target: { deployment, upstreamModel, protocol },
      })
  return {
    framing,
    request: prepared('messages'),
    decoder,
    answer: messageEvents,
    problem,
    counting: {
      request: (request, context) => prepared('count_tokens')(whatIsRead(request), context),
      answer: body => tokenCount(recordOf(body)['input_tokens'] ?? recordOf(body)['inputTokens']),
    },
  }
}

/** Counters refuse the settings of an answer. */
const whatIsRead = ({ model, system, messages, tools, tool_choice, thinking }: CanonicalRequest): CanonicalRequest =>
  compact({ model, system, messages, tools, tool_choice, thinking })

/** The body names the upstream's model already. */
const nowhere = { start: 0, end: 0 }

export const anthropicMessagesCodec = anthropicCodec({ protocol: 'anthropic-messages', wire: anthropicMessages })
export const vertexAnthropicCodec = anthropicCodec({ protocol: 'vertex-anthropic', wire: vertexAnthropic })
export const bedrockInvokeCodec = anthropicCodec({
  protocol: 'bedrock-invoke',
  wire: bedrockInvoke,
  framing: 'aws-event-stream',
  decoder: createInvokeDecoder,
})

/** Each frame of InvokeModel holds one event of Anthropic's, or is an exception. */
function createInvokeDecoder(): StreamDecoder {
  const decoder = new AnthropicDecoder()
  return {
    push(frame) {
      const data = bedrockEvent(frame)
      return data === undefined ? [] : decoder.push({ data: data.toString() })
    },
    end: () => decoder.end(),
  }
}

const maxMessageLength = 1_000

/** An upstream error keeps its status. Its words stand in Anthropic's envelope, in Google's or AWS's shape, or are plain text. */
function problem(status: number, body: unknown): UpstreamProblem {
  const message = messageIn(body) ?? `the upstream answered with status ${status}`
  const reason = status === 400 || status === 413 ? reasonOfText(message) : undefined
  return { code: codeOf(status), status, message, ...(reason !== undefined && { reason }) }
}

function codeOf(status: number): ErrorCode {
  const code = codeOfStatus(status)
  return code === 'internal' && status < 500 ? 'invalid_request' : code
}

function messageIn(given: unknown): string | undefined {
  if (typeof given === 'string') return given.trim().slice(0, maxMessageLength) || undefined
  const body = recordOf(Array.isArray(given) ? given[0] : given)
  const { error, detail } = body
  return textIn(recordOf(error)['message']) ?? textIn(error) ?? bedrockMessage(body) ?? textIn(detail)
}
