import { infiniteQueryOptions } from '@tanstack/react-query'
import { client } from '../../../../data/client.ts'
import { live } from '../../../../data/live.ts'
import { present } from '../../../../data/present.ts'
import { routes } from '../../../../data/routes.ts'

/** Each is loaded with its cost, so pages are short. */
const pageSize = 20

/** The sessions of called agents, newest first. */
export const childrenQuery = (sessionId: string) =>
  infiniteQueryOptions({
    queryKey: ['session-children', sessionId],
    queryFn: ({ pageParam: cursor }) =>
      client.page(routes.sessionChildren, {
        params: { session_id: sessionId },
        query: present({ limit: pageSize, cursor }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    meta: live,
  })
