import { type QueryClient, queryOptions } from '@tanstack/react-query'
import type { Deployment } from '../../../../src/contract/deployments.ts'
import type { ModelSetting } from '../../../../src/contract/model-settings.ts'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'

/** Returns the entries of all pages. Lists of models are short: they are written by hand. */
async function allOf<Item>(
  load: (cursor: string | undefined) => Promise<{ readonly items: readonly Item[]; readonly next: string | null }>,
): Promise<readonly Item[]> {
  const all: Item[] = []
  let cursor: string | undefined
  do {
    const { items, next } = await load(cursor)
    all.push(...items)
    cursor = next ?? undefined
  } while (cursor !== undefined)
  return all
}

export const settingsQuery = queryOptions({
  queryKey: ['model-settings'],
  queryFn: () =>
    allOf<ModelSetting>(async cursor => {
      const { models, next_cursor } = await client.modelSettings.list({ query: present({ limit: 200, cursor }) })
      return { items: models, next: next_cursor }
    }),
})

export const deploymentsQuery = queryOptions({
  queryKey: ['deployments'],
  queryFn: () =>
    allOf<Deployment>(async cursor => {
      const { deployments, next_cursor } = await client.deployments.list({ query: present({ limit: 200, cursor }) })
      return { items: deployments, next: next_cursor }
    }),
  meta: live,
})

export const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: () => client.providers.list(),
})

/** Loads everything about models again, after a change. */
export async function reloadModels(queries: QueryClient): Promise<void> {
  const names = ['model-settings', 'deployments', 'providers', 'models']
  await Promise.all(names.map(name => queries.invalidateQueries({ queryKey: [name] })))
}
