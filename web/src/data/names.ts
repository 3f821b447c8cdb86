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

const byId = (list: Named): ReadonlyMap<string, string> =>
  new Map(list.flatMap(({ id, name }) => (name === null || name.trim() === '' ? [] : [[id, name] as const])))

const none: ReadonlyMap<string, string> = new Map()

/** Returns the names of the newest 1,000 agents. Others keep their ids. */
export function useAgentNames(): ReadonlyMap<string, string> {
  const { data = none } = useQuery({ ...agentChoicesQuery, select: byId })
  return data
}

/** Returns the names of the newest 1,000 agents and 200 keys. Others keep their ids. */
export function useNames(): Names {
  const isAdmin = useIsAdmin()
  const agents = useAgentNames()
  const { data: keys = none } = useQuery({ ...keyNames, enabled: isAdmin, select: byId })
  return { agents, keys }
}
