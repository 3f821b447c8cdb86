import { queryOptions, useQuery } from '@tanstack/react-query'
import { agentChoicesQuery } from './agents.ts'
import { client } from './client.ts'
import { useIsAdmin } from './sign-in.tsx'

const keyNames = queryOptions({
  queryKey: ['keys', 'names'],
  queryFn: async () => {
    const { keys } = await client.keys.list({ query: { limit: 200, include_revoked: true } })
    return keys.map(({ id, label }) => ({ id, name: label }))
  },
  staleTime: 60_000,
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

/** Returns the names of the newest 1,000 agents and 200 keys. Others keep their ids. */
export function useNames(): Names {
  const isAdmin = useIsAdmin()
  const { data: agents } = useQuery(agentChoicesQuery)
  const { data: keys } = useQuery({ ...keyNames, enabled: isAdmin })
  return { agents: byId(agents), keys: byId(keys) }
}
