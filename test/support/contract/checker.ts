import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { allRoutes, everyPath } from '../../../src/contract/api.ts'
import type { Route } from '../../../src/contract/route.ts'
import { sseReader } from '../../../src/contract/sse.ts'
import { openApiDocument } from '../../../src/server/http/openapi/document.ts'

/** An answer of the service, as a client received it. */
export interface Exchange {
  readonly method: string
  /** Path and query, as they were sent. */
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
  /** True when the client or the service ended the answer early, so that its body is not whole. */
  readonly isCut?: boolean
}

/** Something in an answer that the OpenAPI document does not allow. */
export interface Violation {
  readonly operation: string
  readonly status: number
  readonly problem: string
}

interface Content {
  readonly schema?: unknown
}
interface Response {
  readonly content?: Readonly<Record<string, Content>>
}
interface Operation {
  readonly responses: Readonly<Record<string, Response>>
}

/** Checks answers against a document; without one, against that of these sources. */
export function createContractChecker(document: Record<string, unknown> = openApiDocument()) {
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false })
  ajv.addSchema({ ...document, $id: 'api' })
  const paths = document['paths'] as Readonly<Record<string, Readonly<Record<string, Operation>>>>
  const validators = new Map<string, ValidateFunction>()

  function validatorOf(pointer: readonly string[]): ValidateFunction {
    const ref = `api#/${pointer.map(part => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`
    const known = validators.get(ref) ?? ajv.compile({ $ref: ref })
    validators.set(ref, known)
    return known
  }

  /** Returns the schema of a body, as a validator; undefined for a content type without one. */
  function schemaOf(place: readonly string[], { schema }: Content): ValidateFunction | undefined {
    return schema === undefined ? undefined : validatorOf([...place, 'schema'])
  }

  /** Returns the problems of content type and body. */
  function contentProblems(
    place: readonly string[],
    content: Response['content'],
    { headers, body, isCut = false }: Exchange,
  ): readonly string[] {
    if (!content) return body.length > 0 && !isCut ? ['the body must be empty'] : []
    const type = mediaTypeIn(headers)
    const described = type in content ? type : '*/*'
    const found = content[described]
    if (!found) return [`content type ${JSON.stringify(type)} is not documented`]
    if (type === 'text/event-stream') return frameProblems(body.toString())
    const isChecked = !isCut && type.endsWith('json')
    return isChecked ? jsonProblems(body.toString(), schemaOf([...place, 'content', described], found)) : []
  }

  function problemsOf(exchange: Exchange, { path, method, responses }: Found): readonly string[] {
    const { status, headers } = exchange
    const name = String(status) in responses ? String(status) : 'default'
    if (name === 'default' && status < 400) return ['the status is not documented']
    const place = ['paths', path, method, 'responses', name]
    const problems = contentProblems(place, responses[name]?.content, exchange)
    return /^req_\w+$/.test(String(headers['request-id'])) ? problems : ['header request-id is missing', ...problems]
  }

  /** Returns what the document does not allow in an answer. */
  return (exchange: Exchange): readonly Violation[] => {
    const { url, status, method } = exchange
    const requested = url.split('?')[0] ?? ''
    const route = routeOf(method === 'HEAD' ? 'GET' : method, requested)
    if (!route)
      return status < 300
        ? [{ operation: `${method} ${requested}`, status, problem: 'no operation has this path' }]
        : []
    const { id, path } = route
    const lower = route.method.toLowerCase()
    const responses = paths[path]?.[lower]?.responses ?? {}
    return problemsOf(exchange, { path, method: lower, responses }).map(problem => ({ operation: id, status, problem }))
  }
}

interface Found {
  readonly path: string
  readonly method: string
  readonly responses: Operation['responses']
}

const mediaTypeIn = ({ 'content-type': type = '' }: Exchange['headers']): string =>
  String(type).split(';')[0]?.trim().toLowerCase() ?? ''

function jsonProblems(text: string, validate: ValidateFunction | undefined): readonly string[] {
  if (!isJson(text)) return [`the body is not JSON: ${text.slice(0, 80)}`]
  if (!validate || validate(JSON.parse(text))) return []
  return [...new Set((validate.errors ?? []).map(shownError))].slice(0, 3)
}

const shownError = ({ instancePath, message, params }: NonNullable<ValidateFunction['errors']>[number]): string =>
  `${instancePath.replaceAll(/\/\d+(?=\/|$)/g, '/*') || 'body'} ${message} ${JSON.stringify(params)}`

/** Frames of every stream are JSON, but for the end mark of OpenAI's format. */
function frameProblems(text: string): readonly string[] {
  const frames = [...sseReader()(text)]
  return frames
    .filter(({ data }) => data !== '[DONE]' && !isJson(data))
    .slice(0, 1)
    .map(({ data }) => `the data of a frame is not JSON: ${data.slice(0, 80)}`)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Routes with fixed names come before those with parameters, as in the router. */
const patterns = everyPath
  .map(route => ({ route, pattern: patternOf(route.path), weight: (route.path.match(/\{/g) ?? []).length }))
  .toSorted((a, b) => a.weight - b.weight || b.route.path.length - a.route.path.length)
function patternOf(path: string): RegExp {
  const source = path
    .replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&')
    .replaceAll('{path}', '.*')
    .replaceAll(/\{\w+\}/g, '[^/]+')
  return new RegExp(`^${source}$`)
}

/** Returns the route of the document, whose path an alias does not have; undefined if no route has the path. */
function routeOf(method: string, requested: string): Route | undefined {
  const found = patterns.find(({ route, pattern }) => route.method === method && pattern.test(requested))
  return allRoutes.find(({ id }) => id === found?.route.id)
}
