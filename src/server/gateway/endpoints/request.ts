import { AppError, invalid } from '../../platform/errors.ts'
import { countOf, isAbsent, type Json, listOf, nonEmptyText } from '../../platform/json.ts'
import { editTopLevel, type Parts, spliceString } from '../bytes/body-edit.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import type { Span } from '../bytes/json-scanner.ts'
import type { Ask, Attempt, Call, EndpointKind, Units } from '../core/call.ts'
import { checkSize } from '../core/request-checks.ts'
import type { ImageSize } from '../pricing/unit-prices.ts'
import { boundaryOf, type Part, partsOf, withField } from './multipart.ts'
import { endpoints } from './table.ts'

/** A call of an endpoint of the table. */
export interface EndpointCall extends Pick<Call, 'body' | 'headers' | 'address'> {
  readonly kind: EndpointKind
}

/** The fields of a request; those of a form are text, and its files stand apart. */
export interface Fields {
  readonly values: Json
  readonly files: readonly Part[]
  /** Present for a form. */
  readonly form?: { readonly boundary: string; readonly parts: readonly Part[] }
}

const contentTypeOf = ({ headers }: Pick<Call, 'headers'>): string | undefined => [headers['content-type']].flat()[0]

/** Reads a request as JSON or as a form, by its endpoint and content type. Throws `invalid_request`. */
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
    throw new AppError('invalid_request', 'the body is not valid JSON', { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the body must be a JSON object')
  return value as Json
}

const nowhere: Span = { start: 0, end: 0 }
const watched = keysOf(['model', 'stream'])

/** What a request of an endpoint asks for. Throws `invalid_request` that names the field. */
export function endpointAsk(call: EndpointCall): Ask {
  const { kind, body, address } = call
  const endpoint = endpoints[kind]
  // A form is no JSON.
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
  const doubled = members?.doubled[0]
  if (doubled !== undefined) throw invalid(`${doubled} is given twice`)
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
  const stranger = files.find(({ name }) => name !== one && name !== list && name !== besides)
  if (stranger)
    throw invalid(`unknown file part ${JSON.stringify(stranger.name.slice(0, 100))}; the file belongs in ${one}`)
  const ones = named(one)
  const isEnough = ones === 1 ? named(list) === 0 : ones === 0 && list !== undefined && named(list) > 0
  if (!isEnough || named(besides) > 1)
    throw invalid(
      `the form must hold exactly one file part ${one}${list === undefined ? '' : `, or several named ${list}`}`,
    )
  const models = form?.parts.filter(({ name }) => name === 'model') ?? []
  if (models.length > 1) throw invalid('model is given twice')
  if (models[0]?.isFile) throw invalid('model must be a string')
}

/** The received body; where the alias maps, or the request names no model, with the upstream's name of the model. */
export function bodyFor({ call, ask, target }: Attempt, kind: EndpointKind): Parts {
  const model = target.upstreamModel
  const { form } = endpoints[kind].form === 'json' ? { form: undefined } : fieldsOf({ ...call, kind })
  if (form) {
    const part = form.parts.find(({ name }) => name === 'model')
    const isSame = part && call.body.toString('utf8', part.start, part.end) === model
    return isSame ? call.body : withField(call.body, { boundary: form.boundary, name: 'model', value: model, part })
  }
  if (ask.modelSpan.end === 0) return editTopLevel(call.body, { set: { model } }).body
  return model === ask.model ? call.body : spliceString(call.body, ask.modelSpan, model)
}

/** The content type of a form, which names its boundary; undefined for JSON. */
export const formType = (call: Pick<Call, 'headers'>, kind: EndpointKind): string | undefined => {
  const type = contentTypeOf(call)
  return endpoints[kind].form === 'json' || boundaryOf(type) === undefined ? undefined : type
}

/** The units that the request alone tells; for images the most that the answer may hold. */
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

/** Cohere counts a search for each 100 documents. */
const documentsPerQuery = 100

/** Characters as people count them, not UTF-16 units. */
export const charactersOf = (value: unknown): number => {
  let count = 0
  for (const _ of nonEmptyText(value) ?? '') count++
  return count
}

/** Bytes that a model reads as text: all of a JSON body, the fields of a form. */
export const textBytesOf = ({ body }: Pick<Call, 'body'>, { files, form }: Fields): number =>
  form ? body.length - files.reduce((sum, { start, end }) => sum + end - start, 0) : body.length

/** What decides the price of an image besides the model. */
export const imageOf = (call: EndpointCall): ImageSize =>
  endpoints[call.kind].unit === 'image' ? fieldsOf(call).values : {}

/** The slowest speech codec in use needs some 6 kbit/s; most recordings have 32 and more. */
const bytesPerSecond = { least: 750, usual: 4_000 }

/**
 * The length of the audio in a form: at most, and as a guess. A WAV file states how many bytes a second has; for all others
 * the size is all there is to go by.
 */
export function secondsOf(
  { body }: Pick<Call, 'body'>,
  { files }: Fields,
): { readonly most: number; readonly guess: number } {
  const [file] = files
  if (!file) return { most: 0, guess: 0 }
  const bytes = file.end - file.start
  const isWave = bytes > 44 && body.toString('latin1', file.start, file.start + 4) === 'RIFF'
  const stated = isWave ? body.readUInt32LE(file.start + 28) : 0
  if (stated >= bytesPerSecond.least) return { most: Math.ceil(bytes / stated), guess: Math.ceil(bytes / stated) }
  return { most: Math.ceil(bytes / bytesPerSecond.least), guess: Math.ceil(bytes / bytesPerSecond.usual) }
}
