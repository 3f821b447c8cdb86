import { queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'

const staleTime = 60_000

/** Names of the models that the person may call, for choices in forms. */
export const modelNames = queryOptions({
  queryKey: ['model-names'],
  queryFn: async () => (await client.models.list()).data.map(({ id }) => id),
  staleTime,
})
