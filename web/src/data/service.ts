import { queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'

/** State and configuration of the service, for administrators. */
export const serviceQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: () => client.system.settings(),
  staleTime: 10_000,
})
