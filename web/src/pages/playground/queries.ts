import { queryOptions } from '@tanstack/react-query'
import { ApiError } from '../../../../src/client/index.ts'
import { client } from '../../data/client.ts'

const maxTries = 6
const firstDelayMs = 150

const isMissing = (error: Error): boolean => error instanceof ApiError && error.status === 404

/** The ledger's row of a call. The service writes it shortly after the end of the call. */
export const callQuery = (requestId: string) =>
  queryOptions({
    queryKey: ['playground', 'call', requestId],
    queryFn: () => client.usage.call({ params: { request_id: requestId } }),
    retry: (tries, error) => tries < maxTries && isMissing(error),
    retryDelay: tries => firstDelayMs * 2 ** tries,
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
