import { type TSchema, Type } from 'typebox'
import { A2aError, A2aRpcError } from '../../../contract/a2a-errors.ts'
import { allRoutes, apiVersion } from '../../../contract/api.ts'
import { AwsError } from '../../../contract/aws.ts'
import { AnthropicError, JsonRpcError, NestedError, PlainError, unauthorizedBody } from '../../../contract/errors.ts'
import { SessionEvent } from '../../../contract/events.ts'
import { GoogleError } from '../../../contract/gemini.ts'
import { OpenAiError } from '../../../contract/openai.ts'
import type { ErrorShape, Route } from '../../../contract/route.ts'
import { tagGroups, tags } from '../../../contract/tags.ts'
import { type Components, createComponents } from './components.ts'
import { descriptionOf } from './descriptions.ts'
import { parameterExample, requestExample, responseExample } from './examples.ts'
import { introduction } from './introduction.ts'
import { parameterDescription } from './parameters.ts'
import { documentedEvent } from './session-event.ts'

const errorSchemas: Readonly<Record<ErrorShape, TSchema>> = {
  nested: NestedError,
  plain: PlainError,
  anthropic: AnthropicError,
  openai: OpenAiError,
  'by-header': Type.Union([OpenAiError, AnthropicError]),
  google: GoogleError,
  aws: AwsError,
  a2a: A2aError,
  'a2a-rpc': A2aRpcError,
  jsonrpc: JsonRpcError,
}

type TaggedRoute = (typeof allRoutes)[number]

/** Returns the contract as an OpenAPI 3.1 document. It is built from the routes, so that it cannot disagree with the server. */
export function openApiDocument(): Record<string, unknown> {
  const components = createComponents(new Map([[SessionEvent, documentedEvent]]))
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of allRoutes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route, components) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Switchyard API',
      version: apiVersion,
      summary: 'Model gateway, agents and durable sessions behind one API',
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The service that serves this document' }],
    tags,
    'x-tagGroups': tagGroups,
    paths,
    components: {
      schemas: components.schemas,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'The key in `Authorization: Bearer <key>`' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The key in `x-api-key`' },
        queryKey: { type: 'apiKey', in: 'query', name: 'key', description: 'The key in the query, for event streams' },
        basic: { type: 'http', scheme: 'basic', description: 'The password is the key; the user name is ignored' },
        googleKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-goog-api-key',
          description: 'The key as Google’s clients send it',
        },
      },
    },
  }
}

function operation(route: TaggedRoute, components: Components): Record<string, unknown> {
  const { id, summary, group, params, query, body, bodyOptional = false } = route
  const { consumes = 'application/json' } = route
  const isRaw = consumes === 'application/octet-stream'
  return {
    operationId: id,
    summary,
    description: descriptionOf(route),
    tags: [group],
    security: securityOf(route),
    ...((params || query) && {
      parameters: [...parameters(route, 'path', components), ...parameters(route, 'query', components)],
    }),
    ...(body && {
      requestBody: {
        required: !bodyOptional,
        content: { [consumes]: { schema: components.refer(body), ...requestExample(route) } },
      },
    }),
    ...(isRaw && { requestBody: { required: true, content: { [consumes]: {} } } }),
    responses: answersOf(route, components),
  }
}

function securityOf({ access }: Route): Record<string, readonly string[]>[] {
  if (access === 'public') return []
  if (access === 'webhook') return [{ bearer: [] }]
  const headers = [{ bearer: [] }, { apiKey: [] }, { basic: [] }]
  // An empty requirement: the key is optional.
  if (access === 'key-unless-public') return [...headers, {}]
  if (access === 'google-key') return [...headers, { googleKey: [] }, { queryKey: [] }]
  return access === 'key-or-query' ? [...headers, { queryKey: [] }] : headers
}

function parameters(route: Route, place: 'path' | 'query', components: Components): Record<string, unknown>[] {
  const { properties = {}, required = [] } = (route[place === 'path' ? 'params' : 'query'] ?? {}) as {
    properties?: Record<string, TSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => {
    const description = parameterDescription(name, (property as { readonly description?: unknown }).description)
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description !== undefined && { description }),
      ...((property as { type?: unknown }).type === 'object' && { style: 'deepObject', explode: true }),
      schema: components.refer(property),
      ...parameterExample(route, place, { name, schema: property }),
    }
  })
}

/** An answer in the document. */
interface DocumentedAnswer {
  readonly description: string
  readonly content?: Readonly<Record<string, unknown>>
}
type DocumentedAnswers = Readonly<Record<string, DocumentedAnswer>>

/** An error that the route describes itself, such as a page, may also have the shape of the route's other errors. */
function answersOf(route: Route, components: Components): DocumentedAnswers {
  const described = describedAnswers(route, components)
  const errors = Object.entries(failures(route, components)).map(([status, error]): [string, DocumentedAnswer] => [
    status,
    { ...error, content: { ...described[status]?.content, ...error.content } },
  ])
  return { ...described, ...(route.relaysStatus && relayed), ...Object.fromEntries(errors) }
}

/** Statuses of a provider other than those that are described. */
const relayed: DocumentedAnswers = {
  '2XX': { description: 'Response of the provider', content: { '*/*': {} } },
  '3XX': { description: 'Redirect, or an unchanged object, of the provider', content: { '*/*': {} } },
}

function describedAnswers(route: Route, components: Components): DocumentedAnswers {
  const { responses, otherResponses, produces, hasCsv, alternatives = {} } = route
  const answers = Object.entries({ ...otherResponses, ...responses }).map(([status, schema]) => [
    status,
    {
      description: Number(status) >= 400 ? 'Error' : schema ? 'Success' : 'Success, without a body',
      ...(schema && {
        content: {
          [produces ?? 'application/json']: { schema: components.refer(schema), ...responseExample(route, status) },
          ...Object.fromEntries(
            Object.entries(alternatives).map(([type, other]) => [type, { schema: components.refer(other) }]),
          ),
          ...(hasCsv && { 'text/csv': { schema: { type: 'string' } } }),
        },
      }),
    },
  ])
  return Object.fromEntries(answers)
}

/** 401 has one body on every path; the other errors have the shape of the route. */
function failures({ access, errorShape, params, body, query }: Route, components: Components): DocumentedAnswers {
  const answer = (description: string, schema: TSchema, example?: unknown) => ({
    description,
    content: { 'application/json': { schema: components.refer(schema), ...(example !== undefined && { example }) } },
  })
  const shaped = errorSchemas[errorShape]
  return {
    ...((params || body || query || access === 'public') && {
      400: answer('The request is invalid; the message names the field', shaped),
    }),
    ...(access !== 'public' && { 401: answer('The key is missing or wrong', NestedError, unauthorizedBody) }),
    ...(access === 'admin' && { 403: answer('The key is not an admin key', shaped) }),
    ...(params && { 404: answer('The object does not exist, or belongs to another owner', shaped) }),
    default: answer('Any other error', shaped),
  }
}
