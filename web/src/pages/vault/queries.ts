import { infiniteQueryOptions, type QueryClient } from '@tanstack/react-query'
import type { VaultEntry } from '../../../../src/contract/vault.ts'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'

const all = ['vault'] as const

export const vaultQuery = infiniteQueryOptions({
  queryKey: all,
  queryFn: ({ pageParam: cursor }) => client.vault.list({ query: present({ limit: 200, cursor }) }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: page => page.next_cursor ?? undefined,
  meta: live,
})

export const reloadVault = (queries: QueryClient): Promise<void> => queries.invalidateQueries({ queryKey: all })

/** Name of an entry in the address and of its row. An owner may have an entry of the same name as a global one. */
export const idOf = ({ scope, key }: Pick<VaultEntry, 'scope' | 'key'>): string => `${scope}/${key}`
