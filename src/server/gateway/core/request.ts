import { AppError, invalid } from '../../platform/errors.ts'
import { keysOf, type OwnMembers, ownMembers } from '../bytes/json-members.ts'
import { type Span, skipBlank } from '../bytes/json-scanner.ts'
import { endpointAsk } from '../endpoints/request.ts'
import { isEndpoint } from '../endpoints/table.ts'
import { geminiAsk, geminiKeys } from '../formats/gemini/ask.ts'
import { boundFields } from '../tokens/input-bound.ts'
import { bedrockAsk, bedrockKeys } from './bedrock-ask.ts'
import { type Ask, type Call, type CallKind, isBedrock } from './call.ts'
import { type Body, checkedFields, checkSize, checksOf, parsedObject } from './request-checks.ts'
import { requestWords } from './request-words.ts'

/** The formats in which an answer can be streamed. */
const streamed: ReadonlySet<CallKind> = new Set(['messages', 'chat', 'responses'])

/** Room for any ARN in use. Names are compared with patterns of prices and of models, which a text without end would hold up. */
const maxModelLength = 1_000

const keys = keysOf([...checkedFields, ...boundFields])

/**
 * Checks the few fields that routing and budgets depend on; all else is open and passes. Throws `invalid_request` that
 * names the field. The body is checked to its last byte but no object is built of it. Source: Gateway, section 1.
 */
export function readRequest(call: Pick<Call, 'kind' | 'body' | 'address'> & Partial<Pick<Call, 'headers'>>): Ask {
  const ask = askOf(call)
  if (ask.model.length > maxModelLength) throw invalid(`model is longer than ${maxModelLength} characters`)
  return ask
}

function askOf({ kind, body, address, headers = {} }: Parameters<typeof readRequest>[0]): Ask {
  if (isEndpoint(kind)) return endpointAsk({ kind, body, headers, ...(address && { address }) })
  const members = ownMembers(body, isBedrock(kind) ? bedrockKeys : address ? geminiKeys : keys, requestWords)
  if (!members) throw refusalOf(body)
  checkSize(members)
  if (address && isBedrock(kind)) return bedrockAsk({ body, address }, members)
  return address ? geminiAsk({ kind, body, address }, members) : askOfBody({ kind, body }, members)
}

const isGoogle = (kind: CallKind): kind is Extract<CallKind, `gemini${string}`> => kind.startsWith('gemini')

function askOfBody({ kind, body }: Pick<Call, 'kind' | 'body'>, members: OwnMembers): Ask {
  if (isGoogle(kind) || isBedrock(kind) || isEndpoint(kind))
    throw new AppError('internal', 'a call in this format needs an address')
  return askIn({ kind, body }, members)
}

/** What a request asks for whose body names its model. */
function askIn(
  { kind, body }: { readonly kind: keyof typeof checksOf; readonly body: Buffer },
  members: OwnMembers,
): Ask {
  const fields = outline(body, members)
  const { model, stream } = fields
  if (typeof model !== 'string') throw invalid(model === undefined ? 'model is required' : 'model must be a string')
  if (model === '') throw invalid('model must not be empty')
  const { watched, allowsNull, maxTokens } = checksOf[kind]
  const mostTokens = maxTokens(fields)
  const saysStream = stream !== undefined && !(allowsNull && stream === null)
  if (saysStream && typeof stream !== 'boolean') throw invalid('stream must be a boolean')
  const doubled = members.doubled.find(name => watched.some(key => key === name))
  if (doubled !== undefined) throw invalid(`${doubled} is given twice`)
  const [modelSpan] = members.values
  if (!modelSpan) throw new AppError('internal', 'the body could not be read')
  return { model, modelSpan, stream: stream === true && streamed.has(kind), maxTokens: mostTokens, members }
}

/** The values of the checked fields, in their order. */
function outline(body: Buffer, { values }: OwnMembers): Body {
  const [model, stream, messages, input, maxTokens, maxCompletionTokens, maxOutputTokens] = values
  return {
    model: outlineOf(body, model),
    stream: outlineOf(body, stream),
    messages: outlineOf(body, messages),
    input: outlineOf(body, input),
    max_tokens: outlineOf(body, maxTokens),
    max_completion_tokens: outlineOf(body, maxCompletionTokens),
    max_output_tokens: outlineOf(body, maxOutputTokens),
  }
}

/** A value as the checks need it: objects are empty, and arrays hold nothing but whether they hold anything. */
function outlineOf(body: Buffer, span: Span | undefined): unknown {
  if (!span) return undefined
  const { start, end } = span
  switch (body[start]) {
    case 0x7b:
      return {}
    case 0x5b:
      return skipBlank(body, start + 1) === end - 1 ? [] : [undefined]
    default:
      return JSON.parse(body.toString('utf8', start, end))
  }
}

/** What is wrong with a body, in the words of JSON.parse. */
function refusalOf(body: Buffer): Error {
  parsedObject(body)
  // Both readings agree on what is JSON, so this would be a fault of ours.
  return new AppError('internal', 'the body could not be read')
}
