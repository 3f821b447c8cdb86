import { codeOfStatus, type ErrorCode } from '../../../../contract/error-codes.ts'
import type { Protocol } from '../../../config/protocols.ts'
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
import { reasonOfError } from '../../passthrough/answers.ts'
import { anthropicMessages } from '../../passthrough/anthropic-messages.ts'
import { bedrockInvoke } from '../../passthrough/bedrock-invoke.ts'
import { bedrockEvent } from '../../passthrough/bedrock-unwrap.ts'
import type { PassthroughFormat } from '../../passthrough/passthrough-format.ts'
import { vertexAnthropic } from '../../passthrough/vertex-anthropic.ts'
import { tokenCount } from '../../tokens/token-counts.ts'
import { bedrockMessage } from '../../upstream/bedrock.ts'
import { AnthropicDecoder, messageEvents } from './read-answer.ts'

type AnthropicProtocol = Extract<Protocol, 'anthropic-messages' | 'vertex-anthropic' | 'bedrock-invoke'>

interface Adapter {
  readonly protocol: AnthropicProtocol
  /** Passthrough adapter with the upstream's paths, headers and restrictions. */
  readonly format: PassthroughFormat
  readonly framing?: Codec['framing']
  readonly decoder?: () => StreamDecoder
}

/** Creates the codec of a protocol with canonical requests. The passthrough adapter prepares them for the upstream. */
function anthropicCodec({ protocol, format, framing = 'sse', decoder = () => new AnthropicDecoder() }: Adapter): Codec {
  const prepared =
    (kind: CallKind) =>
    (
      request: CanonicalRequest,
      { deployment, upstreamModel, stream, clientHeaders = {} }: CodecContext,
    ): UpstreamRequest<Parts> =>
      format.request({
        call: {
          kind,
          body: Buffer.from(JSON.stringify({ ...request, model: upstreamModel })),
          headers: clientHeaders,
          query: '',
        },
        parsed: {
          model: upstreamModel,
          modelSpan: noSpan,
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
      request: (request, context) => prepared('count_tokens')(countedFields(request), context),
      answer: body => tokenCount(recordOf(body)['input_tokens'] ?? recordOf(body)['inputTokens']),
    },
  }
}

/** Keeps the fields that a token counter accepts: it rejects output settings. */
const countedFields = ({ model, system, messages, tools, tool_choice, thinking }: CanonicalRequest): CanonicalRequest =>
  compact({ model, system, messages, tools, tool_choice, thinking })

/** Empty span: the body already contains the upstream's model name. */
const noSpan = { start: 0, end: 0 }

export const anthropicMessagesCodec = anthropicCodec({ protocol: 'anthropic-messages', format: anthropicMessages })
export const vertexAnthropicCodec = anthropicCodec({ protocol: 'vertex-anthropic', format: vertexAnthropic })
export const bedrockInvokeCodec = anthropicCodec({
  protocol: 'bedrock-invoke',
  format: bedrockInvoke,
  framing: 'aws-event-stream',
  decoder: createInvokeDecoder,
})

/** Creates a decoder for InvokeModel: a frame contains one event in Anthropic's format, or an exception. */
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

/** Reads an upstream error and keeps its status. The body has Anthropic's, Google's or AWS's format, or is text. */
function problem(status: number, body: unknown): UpstreamProblem {
  const message = messageIn(body) ?? `upstream returned status ${status}`
  const reason = reasonOfError(status, message)
  return { code: codeOf(status), status, message, ...(reason !== undefined && { reason }) }
}

function codeOf(status: number): ErrorCode {
  const code = codeOfStatus(status)
  return code === 'internal' && status < 500 ? 'invalid_request' : code
}

function messageIn(given: unknown): string | undefined {
  if (typeof given === 'string') return bedrockMessage(given)?.slice(0, maxMessageLength)
  const body = recordOf(Array.isArray(given) ? given[0] : given)
  const { error, detail } = body
  return textIn(recordOf(error)['message']) ?? textIn(error) ?? bedrockMessage(body) ?? textIn(detail)
}
