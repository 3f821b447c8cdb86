import { AppError, invalid } from '../../platform/errors.ts'
import { boundaryOf } from '../../platform/form-data.ts'
import { countOf, isAbsent, type Json, listOf, nonEmptyText } from '../../platform/json.ts'
import { editTopLevel, type Parts, spliceString } from '../bytes/body-edit.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import type { Span } from '../bytes/json-scanner.ts'
import type { Attempt, Call, EndpointKind, ParsedRequest, Units } from '../core/call.ts'
import { checkSize } from '../core/request-checks.ts'
import type { ImageSize } from '../pricing/unit-prices.ts'
import { type Part, partsOf, withField } from './multipart.ts'
import { endpoints } from './table.ts'

/** Call of an endpoint in `endpoints`. */
export interface EndpointCall extends Pick<Call, 'body' | 'headers' | 'address'> {
  readonly kind: EndpointKind
}

/** Fields of a request. The fields of a form are strings, and its files are separate. */
export interface Fields {
  readonly values: Json
  readonly files: readonly Part[]
  /** Present for a form. */
  readonly form?: { readonly boundary: string; readonly parts: readonly Part[] }
}

const contentTypeOf = ({ headers }: Pick<Call, 'headers'>): string | undefined => [headers['content-type']].flat()[0]

/** Parses a request as JSON or as a form, by endpoint and content type. Throws `invalid_request`. */
export function fieldsOf({ kind, body, headers }: EndpointCall): Fields {
  const { form } = endpoints[kind]
  const boundary = form === 'json' ? undefined : boundaryOf(contentTypeOf({ headers }))
  if (boundary === undefined) {
    if (form !== 'multipart') return { values: objectIn(body), files: [] }
    throw new AppError('unsupported_media_type', 'content-type must be multipart/form-data with a boundary')
  }
  const parts = partsOf(body, boundary)
  const texts = parts.filter(({ isFile }) => !isFile)
  const values = Object.fromEntries(texts.map(({ name, start, end }) => [name, body.toString('utf8', start, end)]))
  return { values, files: parts.filter(({ isFile }) => isFile), form: { boundary, parts } }
}

function objectIn(body: Buffer): Json {
  if (body.length === 0) throw invalid('the body is empty')
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch (cause) {
    throw new AppError('invalid_request', 'request body is not valid JSON', { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the body must be a JSON object')
  return value as Json
}

const nowhere: Span = { start: 0, end: 0 }
/** What the checks, the choice of a model and the price read: a doubled one could mean something else upstream. */
const watched = keysOf(['model', 'stream', 'stream_format', 'max_tokens', 'n', 'input', 'documents'])

/** Validates a request of an endpoint. Throws `invalid_request` that names the field. */
export function parseEndpointRequest(call: EndpointCall): ParsedRequest {
  const { kind, body, address } = call
  const endpoint = endpoints[kind]
  // Undefined for a form.
  const members = ownMembers(body, watched)
  if (members) checkSize(members)
  const fields = fieldsOf(call)
  const { values, form } = fields
  const model = address?.model ?? values['model'] ?? endpoint.defaultModel
  if (model === undefined || model === null) throw invalid('model is required')
  if (typeof model !== 'string') throw invalid('model must be a string')
  if (model === '') throw invalid('model must not be empty')
  for (const name of endpoint.required) if (isAbsent(values[name])) throw invalid(`${name} is required`)
  if (form) checkForm(kind, fields)
  const duplicate = members?.duplicates[0]
  if (duplicate !== undefined) throw invalid(`${duplicate} is given twice`)
  return {
    model,
    modelSpan: members?.values[0] ?? nowhere,
    stream: isStreamed(fields),
    maxTokens: countOf(values['max_tokens']) ?? 0,
  }
}

function isStreamed({ values, form }: Fields): boolean {
  const { stream, stream_format: format } = values
  if (form) return stream === 'true'
  if (!isAbsent(stream) && typeof stream !== 'boolean') throw invalid('stream must be a boolean')
  return stream === true || format === 'sse'
}

function checkForm(kind: EndpointKind, { files, form }: Fields): void {
  const { one, list, besides } = endpoints[kind].files ?? { one: 'file' }
  const named = (name: string | undefined) => files.filter(file => file.name === name).length
  const unknown = files.find(({ name }) => name !== one && name !== list && name !== besides)
  if (unknown) throw invalid(`unknown file part ${JSON.stringify(unknown.name.slice(0, 100))}; send the file as ${one}`)
  const ones = named(one)
  const isEnough = ones === 1 ? named(list) === 0 : ones === 0 && list !== undefined && named(list) > 0
  if (!isEnough || named(besides) > 1)
    throw invalid(
      `the form must contain exactly one file part ${one}${list === undefined ? '' : `, or several named ${list}`}`,
    )
  const models = form?.parts.filter(({ name }) => name === 'model') ?? []
  if (models.length > 1) throw invalid('model is given twice')
  if (models[0]?.isFile) throw invalid('model must be a string')
}

/** Returns the received body; with the upstream's model name when the alias maps or the request names no model. */
export function bodyFor({ call, parsed, target }: Attempt, kind: EndpointKind): Parts {
  const model = target.upstreamModel
  const { form } = endpoints[kind].form === 'json' ? { form: undefined } : fieldsOf({ ...call, kind })
  if (form) {
    const part = form.parts.find(({ name }) => name === 'model')
    const isSame = part && call.body.toString('utf8', part.start, part.end) === model
    return isSame ? call.body : withField(call.body, { boundary: form.boundary, name: 'model', value: model, part })
  }
  if (parsed.modelSpan.end === 0) return editTopLevel(call.body, { set: { model } }).body
  return model === parsed.model ? call.body : spliceString(call.body, parsed.modelSpan, model)
}

/** Returns the content type of a form with its boundary; undefined for JSON. */
export const formType = (call: Pick<Call, 'headers'>, kind: EndpointKind): string | undefined => {
  const type = contentTypeOf(call)
  return endpoints[kind].form === 'json' || boundaryOf(type) === undefined ? undefined : type
}

/** Returns the units that the request determines; for images their maximum number. */
export function requestedUnits(kind: EndpointKind, { values }: Fields): Units {
  switch (kind) {
    case 'speech':
      return { character: charactersOf(values['input']) }
    case 'images':
    case 'image_edits':
    case 'image_variations':
      return { image: Math.max(1, countOf(Number(values['n'] ?? 1)) ?? 1) }
    case 'rerank':
      return { query: Math.max(1, Math.ceil(listOf(values['documents']).length / documentsPerQuery)) }
    case 'moderations':
      return { query: 1 }
    default:
      return {}
  }
}

/** Cohere charges one search per 100 documents. */
const documentsPerQuery = 100

/** Counts code points, not UTF-16 units. */
export const charactersOf = (value: unknown): number => {
  let count = 0
  for (const _ of nonEmptyText(value) ?? '') count++
  return count
}

/** Returns the bytes that a model reads as text: the whole JSON body, or a form without its files. */
export const textBytesOf = ({ body }: Pick<Call, 'body'>, { files, form }: Fields): number =>
  form ? body.length - files.reduce((sum, { start, end }) => sum + end - start, 0) : body.length

/** Returns the request fields that determine the price of an image besides the model. */
export const imageOf = (call: EndpointCall): ImageSize =>
  endpoints[call.kind].unit === 'image' ? fieldsOf(call).values : {}

/** The slowest common speech codec uses about 6 kbit/s; most recordings use 32 kbit/s or more. */
const bytesPerSecond = { min: 750, typical: 4_000 }

/**
 * Returns maximum and estimated length in seconds of the audio in a form. The header of a WAV file holds the bytes per
 * second; for other formats the length is derived from the size.
 */
export function secondsOf(
  { body }: Pick<Call, 'body'>,
  { files }: Fields,
): { readonly max: number; readonly estimate: number } {
  const [file] = files
  if (!file) return { max: 0, estimate: 0 }
  const bytes = file.end - file.start
  const isWave = bytes > 44 && body.toString('latin1', file.start, file.start + 4) === 'RIFF'
  const stated = isWave ? body.readUInt32LE(file.start + 28) : 0
  if (stated >= bytesPerSecond.min) return { max: Math.ceil(bytes / stated), estimate: Math.ceil(bytes / stated) }
  return { max: Math.ceil(bytes / bytesPerSecond.min), estimate: Math.ceil(bytes / bytesPerSecond.typical) }
}
