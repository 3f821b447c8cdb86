import { infiniteQueryOptions } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'

export const freezesQuery = infiniteQueryOptions({
  queryKey: ['freezes'],
  queryFn: ({ pageParam: cursor }) => client.controls.freezes({ query: present({ limit: 100, cursor }) }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: page => page.next_cursor ?? undefined,
  meta: live,
})
