import type { TSchema } from 'typebox'
import { allRoutes, apiVersion, firstGroups } from '../../contract/api.ts'
import { AwsError } from '../../contract/aws.ts'
import { AnthropicError, NestedError, PlainError, unauthorizedBody } from '../../contract/errors.ts'
import { GoogleError } from '../../contract/gemini.ts'
import { OpenAiError } from '../../contract/openai.ts'
import type { ErrorShape, Route } from '../../contract/route.ts'

const errorSchemas: Readonly<Record<ErrorShape, TSchema>> = {
  nested: NestedError,
  plain: PlainError,
  anthropic: AnthropicError,
  openai: OpenAiError,
  google: GoogleError,
  aws: AwsError,
}

/** The contract as an OpenAPI 3.1 document. Built from the routes, so that it cannot disagree with the server. */
export function openApiDocument(): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of allRoutes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Switchyard',
      version: apiVersion,
      description: 'Model gateway, agents and durable sessions behind one API.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set([...firstGroups, ...allRoutes.map(({ group }) => group)])].map(name => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        queryKey: { type: 'apiKey', in: 'query', name: 'key' },
        basic: { type: 'http', scheme: 'basic', description: 'The password is the key; the user name is not read' },
        googleKey: { type: 'apiKey', in: 'header', name: 'x-goog-api-key' },
      },
    },
  }
}

function operation(route: Route & { readonly group: string }): Record<string, unknown> {
  const { id, summary, group, access, params, query, body, bodyOptional = false, aliases = [] } = route
  const { consumes = 'application/json' } = route
  return {
    operationId: id,
    summary,
    ...(aliases.length > 0 && { description: `Also served at ${aliases.map(path => `\`${path}\``).join(', ')}.` }),
    tags: [group],
    security: securityOf(route),
    ...((params || query) && { parameters: [...parameters('path', params), ...parameters('query', query)] }),
    ...(body && { requestBody: { required: !bodyOptional, content: { [consumes]: { schema: body } } } }),
    ...(consumes === 'application/octet-stream' && { requestBody: { required: true, content: { [consumes]: {} } } }),
    responses: { ...successes(route), ...(access !== 'public' && failures(route)) },
  }
}

function securityOf({ access }: Route): Record<string, readonly string[]>[] {
  if (access === 'public') return []
  if (access === 'webhook') return [{ bearer: [] }]
  const headers = [{ bearer: [] }, { apiKey: [] }, { basic: [] }]
  if (access === 'google-key') return [...headers, { googleKey: [] }, { queryKey: [] }]
  return access === 'key-or-query' ? [...headers, { queryKey: [] }] : headers
}

function parameters(place: 'path' | 'query', schema: TSchema | undefined): Record<string, unknown>[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, TSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...((property as { type?: unknown }).type === 'object' && { style: 'deepObject', explode: true }),
    schema: property,
  }))
}

function successes({ responses, produces, hasCsv }: Route): Record<string, unknown> {
  const answers = Object.entries(responses).map(([status, schema]) => [
    status,
    {
      description: status === '204' ? 'Done' : 'Success',
      ...(schema && {
        content: {
          [produces ?? 'application/json']: { schema },
          ...(hasCsv && { 'text/csv': { schema: { type: 'string' } } }),
        },
      }),
    },
  ])
  return Object.fromEntries(answers)
}

/** 401 has one body on every path; the other refusals have the shape of the route. */
function failures({ errorShape, params, body }: Route): Record<string, unknown> {
  const answer = (description: string, schema: TSchema) => ({
    description,
    content: { 'application/json': { schema } },
  })
  const shaped = errorSchemas[errorShape]
  return {
    401: {
      description: 'Key missing or wrong',
      content: { 'application/json': { schema: NestedError, example: unauthorizedBody } },
    },
    ...((params || body) && { 400: answer('A field is wrong; the message names it', shaped) }),
    ...(params && { 404: answer('No such object', shaped) }),
    default: answer('Any other refusal', shaped),
  }
}
