import { AppError, invalid } from '../../platform/errors.ts'
import { keysOf, type OwnMembers, ownMembers } from '../bytes/json-members.ts'
import { type Span, skipBlank } from '../bytes/json-scanner.ts'
import { parseEndpointRequest } from '../endpoints/request.ts'
import { isEndpoint } from '../endpoints/table.ts'
import { geminiKeys, parseGeminiRequest } from '../formats/gemini/parse-request.ts'
import { tierFields } from '../pricing/service-tier.ts'
import { boundFields } from '../tokens/input-bound.ts'
import { bedrockKeys, parseBedrockRequest } from './bedrock-request.ts'
import { type Call, type CallKind, isBedrock, type ParsedRequest } from './call.ts'
import { type Body, checkedFields, checkSize, checksOf, otherModelFields, parsedObject } from './request-checks.ts'
import { requestWords } from './request-words.ts'

/** Kinds whose answers can be streamed by a field of the body. */
const streamed: ReadonlySet<CallKind> = new Set(['messages', 'chat', 'responses'])

/** Long enough for any ARN. Names are matched against patterns of prices and models, which takes time on long texts. */
const maxModelLength = 1_000

const keys = keysOf([...checkedFields, ...boundFields, ...tierFields, ...otherModelFields])
const promptAt = checkedFields.length + boundFields.indexOf('prompt')

/**
 * Parses a request: checks the few fields that routing and budgets depend on; all other fields pass. Throws
 * `invalid_request` that names the field. Validates the whole body as JSON without building objects. Source: Gateway,
 * section 1.
 */
export function readRequest(
  call: Pick<Call, 'kind' | 'body' | 'address'> & Partial<Pick<Call, 'headers'>>,
): ParsedRequest {
  const parsed = parsedOf(call)
  if (parsed.model.length > maxModelLength) throw invalid(`model is longer than ${maxModelLength} characters`)
  return parsed
}

function parsedOf({ kind, body, address, headers = {} }: Parameters<typeof readRequest>[0]): ParsedRequest {
  if (isEndpoint(kind)) return parseEndpointRequest({ kind, body, headers, ...(address && { address }) })
  const members = ownMembers(body, isBedrock(kind) ? bedrockKeys : address ? geminiKeys : keys, requestWords)
  if (!members) throw syntaxErrorOf(body)
  checkSize(members)
  if (address && isBedrock(kind)) return parseBedrockRequest({ body, address }, members)
  return address ? parseGeminiRequest({ kind, body, address }, members) : parsedOfBody({ kind, body }, members)
}

const isGoogle = (kind: CallKind): kind is Extract<CallKind, `gemini${string}`> => kind.startsWith('gemini')

function parsedOfBody({ kind, body }: Pick<Call, 'kind' | 'body'>, members: OwnMembers): ParsedRequest {
  if (isGoogle(kind) || isBedrock(kind) || isEndpoint(kind))
    throw new AppError('internal', 'call in this format has no address')
  return parsedByModel({ kind, body }, members)
}

/** Parses a request whose body contains the model. */
function parsedByModel(
  { kind, body }: { readonly kind: keyof typeof checksOf; readonly body: Buffer },
  members: OwnMembers,
): ParsedRequest {
  const fields = outline(body, members)
  const { model, stream } = fields
  if (typeof model !== 'string') throw invalid(model === undefined ? 'model is required' : 'model must be a string')
  if (model === '') throw invalid('model must not be empty')
  const { watched, allowsNull, maxTokensOf } = checksOf[kind]
  const maxTokens = maxTokensOf(fields)
  const hasStream = stream !== undefined && !(allowsNull && stream === null)
  if (hasStream && typeof stream !== 'boolean') throw invalid('stream must be a boolean')
  const duplicate = members.duplicates.find(name => watched.some(key => key === name))
  if (duplicate !== undefined) throw invalid(`${duplicate} is given twice`)
  const [modelSpan] = members.values
  if (!modelSpan) throw new AppError('internal', 'cannot read the request body (bug)')
  return { model, modelSpan, stream: stream === true && streamed.has(kind), maxTokens, members }
}

/** Returns the values of the checked fields. */
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
    prompt: outlineOf(body, values[promptAt]),
  }
}

/** Returns a value as the checks need it: an object as `{}`, an array as `[]` or with one element. */
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

/** Returns the error of a body that is not a JSON object. */
function syntaxErrorOf(body: Buffer): Error {
  parsedObject(body)
  // The scanner and JSON.parse agree on valid JSON, so this would be a bug.
  return new AppError('internal', 'cannot read the request body (bug)')
}
