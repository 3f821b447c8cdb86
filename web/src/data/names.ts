import { queryOptions, useQuery } from '@tanstack/react-query'
import { client } from './client.ts'
import { useIsAdmin } from './sign-in.tsx'

const staleTime = 60_000

const agentNames = queryOptions({
  queryKey: ['agents', 'names'],
  queryFn: async () => {
    const { agents } = await client.agents.list({ query: { limit: 200 } })
    return agents.map(({ id, name }) => ({ id, name }))
  },
  staleTime,
})

const keyNames = queryOptions({
  queryKey: ['keys', 'names'],
  queryFn: async () => {
    const { keys } = await client.keys.list({ query: { limit: 200, include_revoked: true } })
    return keys.map(({ id, label }) => ({ id, name: label }))
  },
  staleTime,
})

/** Names of objects by their ids. */
export interface Names {
  readonly agents: ReadonlyMap<string, string>
  /** Empty for keys of role `user`, which see no other key. */
  readonly keys: ReadonlyMap<string, string>
}

type Named = readonly { readonly id: string; readonly name: string | null }[]

const byId = (list: Named | undefined): ReadonlyMap<string, string> =>
  new Map(list?.flatMap(({ id, name }) => (name === null || name.trim() === '' ? [] : [[id, name] as const])))

/** Returns the names of the newest 200 agents and keys. Others keep their ids. */
export function useNames(): Names {
  const isAdmin = useIsAdmin()
  const { data: agents } = useQuery(agentNames)
  const { data: keys } = useQuery({ ...keyNames, enabled: isAdmin })
  return { agents: byId(agents), keys: byId(keys) }
}
