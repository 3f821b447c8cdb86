import { queryOptions } from '@tanstack/react-query'
import { client } from '../../../data/client.ts'
import { live } from '../../../data/live.ts'

/** Fields of a session that its summary lacks, with the state of its sandbox; also after its deletion. */
export const detailsQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['session-details', sessionId],
    queryFn: () => client.sessions.managedGet({ params: { session_id: sessionId } }),
    meta: live,
  })

/** What the next model request contains. */
export const contextQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['session-context', sessionId],
    queryFn: () => client.sessions.context({ params: { session_id: sessionId } }),
    meta: live,
  })
