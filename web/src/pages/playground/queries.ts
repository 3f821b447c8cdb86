import { queryOptions } from '@tanstack/react-query'
import type { UsageCall } from '../../../../src/contract/usage.ts'
import { client } from '../../data/client.ts'

const maxTries = 6
const firstDelayMs = 150

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/**
 * The ledger's row of a call; null when there is none. The service writes it shortly after the end of the call. The
 * list is asked because it answers with no rows until then, not with an error.
 */
export const callQuery = (requestId: string) =>
  queryOptions({
    queryKey: ['playground', 'call', requestId],
    queryFn: async (): Promise<UsageCall | null> => {
      for (let tries = 0; tries < maxTries; tries++) {
        await pause(firstDelayMs * 2 ** tries)
        const { calls } = await client.usage.calls({ query: { request_id: requestId, limit: 1 } })
        if (calls[0]) return calls[0]
      }
      return null
    },
    staleTime: Number.POSITIVE_INFINITY,
  })

/** The recorded bodies of a call, with the call. Bodies are undefined when they were not recorded. */
export const recordedCallQuery = (requestId: string) =>
  queryOptions({
    queryKey: ['playground', 'bodies', requestId],
    queryFn: async () => {
      const params = { request_id: requestId }
      const call = await client.usage.call({ params })
      return { call, bodies: call.has_bodies ? await client.usage.bodies({ params }) : undefined }
    },
    retry: false,
    // Prompts stay no longer in the memory of the page than they are shown.
    gcTime: 0,
  })
