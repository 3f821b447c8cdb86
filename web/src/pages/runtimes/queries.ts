import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'

const all = ['runtimes'] as const

/** All runtimes: built-in ones first, then registered ones. */
export const runtimesQuery = queryOptions({
  queryKey: [...all, 'list'],
  queryFn: async () => (await client.runtimeHarnesses.list()).harnesses,
  meta: live,
})

/** Facts that only built-in runtimes have, such as the address of their vendor. */
export const builtInQuery = queryOptions({
  queryKey: [...all, 'built-in'],
  queryFn: async () => (await client.agentRuntimes.list()).runtimes,
})

export const runtimeModelsQuery = (id: string) =>
  queryOptions({
    queryKey: [...all, 'models', id],
    queryFn: async () => (await client.agentRuntimes.models({ params: { runtime_id: id } })).models,
    staleTime: 60_000,
    retry: false,
  })

export const reloadRuntimes = (queries: QueryClient): Promise<void> => queries.invalidateQueries({ queryKey: all })
