import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { EndpointDelivery } from '../../../../src/contract/webhook-endpoints.ts'
import type { WebhookReply } from '../../../../src/contract/webhook-replies.ts'
import type { DeliveryStatus } from '../../../../src/contract/webhooks.ts'
import { agentsKey } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { newestOf } from '../../data/newest.ts'
import { present } from '../../data/present.ts'

/** Agents with their settings: the newest 1,000. */
export const receiversQuery = queryOptions({
  queryKey: [...agentsKey, 'receivers'],
  queryFn: () =>
    newestOf(async query => {
      const { agents, next_cursor: next } = await client.agents.list({ query })
      return { items: agents, next }
    }),
  meta: live,
})

/** Names of the vault entries that the caller may see. */
export const vaultNamesQuery = queryOptions({
  queryKey: ['vault', 'names'],
  queryFn: () =>
    newestOf(async query => {
      const { keys, next_cursor: next } = await client.vault.list({ query })
      return { items: keys, next }
    }),
  staleTime: 10_000,
})

export interface DeliveryFilters {
  readonly agent?: string | undefined
  readonly status?: DeliveryStatus | undefined
  readonly id?: string | undefined
  readonly session?: string | undefined
  readonly from?: string | undefined
}

/** Start of the key of each query about deliveries. */
export const deliveriesKey = ['deliveries'] as const

/** The log of deliveries, newest first. */
export const deliveriesQuery = (filters: DeliveryFilters) =>
  infiniteQueryOptions({
    queryKey: [...deliveriesKey, 'list', filters],
    queryFn: ({ pageParam }) =>
      client.webhooks.list({
        query: present({
          limit: 100,
          cursor: pageParam,
          agent_id: filters.agent,
          status: filters.status,
          request_id: filters.id,
          session_id: filters.session,
          from: filters.from,
        }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    meta: live,
  })

export const deliveryQuery = (id: string) =>
  queryOptions({
    queryKey: [...deliveriesKey, 'one', id],
    queryFn: () => client.webhooks.get({ params: { delivery_id: id } }),
    meta: live,
  })

/** Counts of requests that the log does not have, of the last 7 days. */
export const countsQuery = (agentId: string | undefined) =>
  queryOptions({
    queryKey: [...deliveriesKey, 'counts', agentId],
    queryFn: () => client.webhookCounts.list({ query: present({ agent_id: agentId }) }),
    meta: live,
  })

/** Start of the key of each query about outgoing webhooks. */
export const endpointsKey = ['webhook-endpoints'] as const

export const endpointsQuery = infiniteQueryOptions({
  queryKey: [...endpointsKey, 'list'],
  queryFn: ({ pageParam }) => client.webhookEndpoints.list({ query: present({ limit: 100, cursor: pageParam }) }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  meta: live,
})

export const endpointQuery = (id: string) =>
  queryOptions({
    queryKey: [...endpointsKey, 'one', id],
    queryFn: () => client.webhookEndpoints.get({ params: { endpoint_id: id } }),
    meta: live,
  })

export const endpointDeliveriesQuery = (id: string, state: EndpointDelivery['state'] | undefined) =>
  infiniteQueryOptions({
    queryKey: [...endpointsKey, 'deliveries', id, state],
    queryFn: ({ pageParam }) =>
      client.webhookEndpoints.deliveries({
        params: { endpoint_id: id },
        query: present({ limit: 20, state, cursor: pageParam }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    meta: live,
  })

/** The log of replies, newest first. */
export const repliesQuery = (state: WebhookReply['state'] | undefined) =>
  infiniteQueryOptions({
    queryKey: ['webhook-replies', state],
    queryFn: ({ pageParam }) =>
      client.webhookReplies.list({ query: present({ limit: 100, state, cursor: pageParam }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    meta: live,
  })
