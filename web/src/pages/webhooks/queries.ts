import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Agent } from '../../../../src/contract/agents.ts'
import type { VaultEntry } from '../../../../src/contract/vault.ts'
import type { EndpointDelivery } from '../../../../src/contract/webhook-endpoints.ts'
import type { WebhookReply } from '../../../../src/contract/webhook-replies.ts'
import type { DeliveryStatus } from '../../../../src/contract/webhooks.ts'
import { agentsKey } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'

const pageSize = 200
const maxPages = 5

type Cursor = string | null | undefined

/** Reads the pages of a list, at most the first 1,000 items. */
async function allOf<Item>(
  page: (cursor: string | undefined) => Promise<{ readonly items: readonly Item[]; readonly next: string | null }>,
): Promise<Item[]> {
  const found: Item[] = []
  let cursor: Cursor
  for (let count = 0; count < maxPages && cursor !== null; count++) {
    const { items, next } = await page(cursor)
    found.push(...items)
    cursor = next
  }
  return found
}

/** Agents with their settings: the newest 1,000. */
export const receiversQuery = queryOptions({
  queryKey: [...agentsKey, 'receivers'],
  queryFn: () =>
    allOf<Agent>(async cursor => {
      const { agents, next_cursor } = await client.agents.list({ query: present({ limit: pageSize, cursor }) })
      return { items: agents, next: next_cursor }
    }),
  meta: live,
})

/** Names of the vault entries that the caller may see. */
export const vaultNamesQuery = queryOptions({
  queryKey: ['vault', 'names'],
  queryFn: () =>
    allOf<VaultEntry>(async cursor => {
      const { keys, next_cursor } = await client.vault.list({ query: present({ limit: pageSize, cursor }) })
      return { items: keys, next: next_cursor }
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
