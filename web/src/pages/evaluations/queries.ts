import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Experiment, ExperimentCase } from '../../../../src/contract/experiments.ts'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { newestOf } from '../../data/newest.ts'
import { present } from '../../data/present.ts'

/** Start of the key of each query about evaluations; changes invalidate it. */
export const evaluationsKey = ['evaluations'] as const

const runningMs = 2_000

interface Filter {
  readonly dataset: string | undefined
  readonly agent: string | undefined
  readonly state: Experiment['state'] | undefined
}

/** Experiments, newest first. */
export const experimentsQuery = ({ dataset, agent, state }: Filter) =>
  infiniteQueryOptions({
    queryKey: [...evaluationsKey, 'list', dataset, agent, state],
    queryFn: ({ pageParam }) =>
      client.experiments.list({
        query: present({ limit: 100, dataset_id: dataset, agent_id: agent, state, cursor: pageParam }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    meta: live,
  })

const isOpen = (experiment: Experiment | undefined): boolean => experiment?.ended_at === null

export const experimentQuery = (id: string) =>
  queryOptions({
    queryKey: [...evaluationsKey, 'one', id],
    queryFn: () => client.experiments.get({ params: { experiment_id: id } }),
    refetchInterval: ({ state }) => (isOpen(state.data) ? runningMs : false),
    meta: live,
  })

/** Results of an experiment in the order of the dataset. */
export const resultsQuery = (id: string, state: ExperimentCase['state'] | undefined, isRunning: boolean) =>
  infiniteQueryOptions({
    queryKey: [...evaluationsKey, 'results', id, state, isRunning],
    queryFn: ({ pageParam }) =>
      client.experiments.cases({
        params: { experiment_id: id },
        query: present({ limit: 200, state, cursor: pageParam }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    refetchInterval: isRunning ? runningMs : false,
    meta: live,
  })

/** Compares an experiment with an earlier one. */
export const comparisonQuery = (id: string, base: string) =>
  queryOptions({
    queryKey: [...evaluationsKey, 'comparison', id, base],
    queryFn: () => client.experiments.compare({ params: { experiment_id: id }, query: { with: base } }),
    retry: false,
  })

/** Experiments on a dataset that have ended, for the choice of what to compare with. */
export const endedQuery = (datasetId: string) =>
  queryOptions({
    queryKey: [...evaluationsKey, 'ended', datasetId],
    queryFn: async () => {
      const { experiments } = await client.experiments.list({ query: { limit: 200, dataset_id: datasetId } })
      return experiments.filter(({ ended_at }) => ended_at !== null)
    },
    meta: live,
  })

/** The newest datasets, for choices and filters. */
export const datasetsQuery = queryOptions({
  queryKey: [...evaluationsKey, 'datasets'],
  queryFn: () =>
    newestOf(async query => {
      const { datasets, next_cursor: next } = await client.datasets.list({ query })
      return { items: datasets, next }
    }),
  meta: live,
})
