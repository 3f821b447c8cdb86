import type { FastifyInstance } from 'fastify'
import { openAiRoutes } from '../../../contract/openai.ts'
import type { Input } from '../../../contract/route.ts'
import { bind, routeSchema } from '../../http/bind.ts'
import type { Caller } from '../../http/caller.ts'
import { fastifyPaths } from '../../http/paths.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import type { Json } from '../../platform/json.ts'
import type { Background } from '../background/background.ts'
import type { Gateway } from '../gateway.ts'
import { createAnswer } from '../serve-calls.ts'
import { forwardedQuery } from '../upstream/headers.ts'
import type { ResponseContent, StoredResponses } from './contents.ts'
import { noResponse } from './preparation.ts'
import type { RequestTo } from './upstream.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'deployment'>
  readonly stored: StoredResponses
  readonly background: Background
  readonly requestTo: RequestTo
}

type Place = { readonly content: ResponseContent } | { readonly request: (request: PlaceRequest) => Promise<Json> }
type PlaceRequest = Omit<Parameters<RequestTo>[1], 'id'>

/**
 * Serves stored responses: translated ones and those of the background from the database, others from the upstream that
 * stores them.
 */
export function serveResponses(app: FastifyInstance, { gateway, stored, background, requestTo }: Deps): void {
  const placeOf = async (id: string, { principal }: Caller): Promise<Place> => {
    const row = await stored.find({ principal, id })
    if (!row) throw noResponse(id)
    if (row.is_translated || row.upstream_id !== null) {
      const content = await stored.content({ principal, id })
      if (!content) throw noResponse(id)
      return { content }
    }
    const deployment = gateway.deployment(row.deployment)
    if (!deployment)
      throw new AppError(
        'not_found',
        `response ${id} is stored at deployment ${row.deployment}, which is no longer configured`,
        { fields: { code: 'response_not_found' } },
      )
    return { request: request => requestTo(deployment, { id, ...request }) }
  }

  const read = async (id: string, caller: Caller, query: Query): Promise<Json> => {
    const running = await background.unfinished({ principal: caller.principal, id })
    const place = running ? undefined : await placeOf(id, caller)
    const rest = searchOf(query)
    const found = place && ('content' in place ? place.content.response : place.request({ method: 'GET', rest }))
    return { ...(running ?? (await found)), id, object: 'response' }
  }

  serveReadOrStream(app, { read, stored, background })

  bind(app, openAiRoutes.deleteResponse, async ({ params: { response_id: id } }, caller) => {
    const name = { principal: caller.principal, id }
    const isRunning = (await background.unfinished(name)) !== undefined
    const place = isRunning ? undefined : await placeOf(id, caller)
    if (place && 'request' in place) await place.request({ method: 'DELETE', rest: '' })
    await stored.remove(name)
    background.noteDeleted(name)
    return { id, object: 'response', deleted: true }
  })

  bind(app, openAiRoutes.responseInput, async ({ params: { response_id: id }, query }, caller) => {
    const input = await background.input({ principal: caller.principal, id })
    if (input) return pageOf(itemsOf(id, input), query)
    const place = await placeOf(id, caller)
    if ('content' in place) return pageOf(itemsOf(id, place.content.input), query)
    const page = await place.request({ method: 'GET', rest: `/input_items${searchOf(query)}` })
    return { data: [], has_more: false, ...page, object: 'list' as const }
  })

  bind(app, openAiRoutes.cancelResponse, async ({ params: { response_id: id } }, caller) => {
    const isBackground = await background.cancel({ principal: caller.principal, id })
    const place = await placeOf(id, caller)
    if (isBackground && 'content' in place) return { ...place.content.response, id, object: 'response' as const }
    if ('content' in place) throw invalid(`response ${id} was not created in the background and is already complete`)
    return { ...(await place.request({ method: 'POST', rest: '/cancel' })), id, object: 'response' as const }
  })
}

type Query = Readonly<Record<string, unknown>>

/** Returns the query for the upstream. Clients repeat `include` for several values. */
function searchOf(query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((each): [string, string] => [name, String(each)]),
  )
  return forwardedQuery(pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`)
}

interface Reading extends Pick<Deps, 'stored' | 'background'> {
  readonly read: (id: string, caller: Caller, query: Query) => Promise<Json>
}

type ReadInput = Input<typeof openAiRoutes.response>

/** Serves a response whole, or as the events of a background response. */
function serveReadOrStream(app: FastifyInstance, { read, stored, background }: Reading): void {
  const route = openAiRoutes.response
  for (const url of fastifyPaths(route)) {
    app.route({
      method: route.method,
      url,
      config: { route },
      schema: routeSchema(route),
      async handler(request, reply) {
        const { response_id: id } = request.params as ReadInput['params']
        const { stream, starting_after: startingAfter } = request.query as ReadInput['query']
        if (stream !== true) {
          if (startingAfter !== undefined) throw invalid('starting_after requires stream=true')
          return reply.send(await read(id, request.caller, request.query as ReadInput['query']))
        }
        const name = { principal: request.caller.principal, id }
        if (!(await stored.find(name))) throw noResponse(id)
        const resumed: Pick<Gateway, 'call'> = {
          call: (call, sink) => background.resume({ name, startingAfter }, call, sink),
        }
        await createAnswer(resumed, route)({ request, body: noBody }, reply, { kind: 'responses' })
        return reply
      },
    })
  }
}

const noBody: Buffer = Buffer.alloc(0)

/** Adds ids to items, because clients page by them. */
const itemsOf = (id: string, input: readonly Json[]): readonly Json[] =>
  input.map((item, at) => ({ type: 'message', ...item, id: item['id'] ?? `in_${id.replace(/^resp_/, '')}_${at}` }))

interface Page {
  readonly after?: string
  readonly limit?: number
  readonly order?: 'asc' | 'desc'
}

function pageOf(items: readonly Json[], { after, limit = 20, order = 'desc' }: Page) {
  const sorted = order === 'asc' ? items : items.toReversed()
  const start = after === undefined ? 0 : sorted.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && start === 0) throw invalid(`after: the response has no input item ${after.slice(0, 200)}`)
  const data = sorted.slice(start, start + limit)
  return {
    object: 'list' as const,
    data,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: start + limit < sorted.length,
  }
}
