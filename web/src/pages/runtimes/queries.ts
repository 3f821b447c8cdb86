import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { capabilitiesQuery } from '../../data/agents.ts'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'

const all = ['runtimes'] as const

/** All runtimes: built-in ones first, then registered ones. */
export const runtimesQuery = queryOptions({
  queryKey: [...all, 'list'],
  queryFn: async () => (await client.runtimeHarnesses.list()).harnesses,
  meta: live,
})

export const runtimeModelsQuery = (id: string) =>
  queryOptions({
    queryKey: [...all, 'models', id],
    queryFn: async () => (await client.agentRuntimes.models({ params: { runtime_id: id } })).models,
    staleTime: 60_000,
    retry: false,
  })

/** Loads everything about runtimes again, after a change. */
export async function reloadRuntimes(queries: QueryClient): Promise<void> {
  const keys = [all, capabilitiesQuery.queryKey]
  await Promise.all(keys.map(queryKey => queries.invalidateQueries({ queryKey })))
}
