import type { FastifyInstance } from 'fastify'
import { openAiRoutes } from '../../../contract/openai.ts'
import { bind } from '../../http/bind.ts'
import type { Caller } from '../../http/caller.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import type { Json } from '../../platform/json.ts'
import type { Gateway } from '../gateway.ts'
import { noResponse } from './calls.ts'
import type { ResponseContent, StoredResponses } from './contents.ts'
import type { RequestTo } from './upstream.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'deployment'>
  readonly stored: StoredResponses
  readonly requestTo: RequestTo
}

type Place = { readonly content: ResponseContent } | { readonly request: (request: PlaceRequest) => Promise<Json> }
type PlaceRequest = Omit<Parameters<RequestTo>[1], 'id'>

/** Serves stored responses: translated ones from the database, others from the upstream that stores them. */
export function serveResponses(app: FastifyInstance, { gateway, stored, requestTo }: Deps): void {
  const placeOf = async (id: string, { principal }: Caller): Promise<Place> => {
    const row = await stored.find({ principal, id })
    if (!row) throw noResponse(id)
    if (row.is_translated) {
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

  bind(app, openAiRoutes.response, async ({ params, query }, caller) => {
    if (query.stream === true) throw invalid('stream must be false: a stored response is returned whole')
    const place = await placeOf(params.response_id, caller)
    const found = 'content' in place ? place.content.response : await place.request({ method: 'GET', rest: '' })
    return { ...found, id: params.response_id, object: 'response' as const }
  })

  bind(app, openAiRoutes.deleteResponse, async ({ params: { response_id: id } }, caller) => {
    const place = await placeOf(id, caller)
    if ('request' in place) await place.request({ method: 'DELETE', rest: '' })
    await stored.remove({ principal: caller.principal, id })
    return { id, object: 'response', deleted: true }
  })

  bind(app, openAiRoutes.responseInput, async ({ params: { response_id: id }, query }, caller) => {
    const place = await placeOf(id, caller)
    if ('content' in place) return pageOf(itemsOf(id, place.content.input), query)
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString()
    const page = await place.request({ method: 'GET', rest: `/input_items${search === '' ? '' : `?${search}`}` })
    return { data: [], has_more: false, ...page, object: 'list' as const }
  })

  bind(app, openAiRoutes.cancelResponse, async ({ params: { response_id: id } }, caller) => {
    const place = await placeOf(id, caller)
    if ('content' in place) throw invalid(`response ${id} was not created in the background and is already complete`)
    return { ...(await place.request({ method: 'POST', rest: '/cancel' })), id, object: 'response' as const }
  })
}

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
