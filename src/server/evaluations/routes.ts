import type { FastifyInstance } from 'fastify'
import { datasetRoutes } from '../../contract/datasets.ts'
import { experimentRoutes } from '../../contract/experiments.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import type { Datasets } from './datasets.ts'
import type { Experiments } from './experiments.ts'

interface Deps {
  readonly datasets: Datasets
  readonly experiments: Experiments
}

const placeOf = ({ position }: { readonly position: number }): string => String(position)

/** Routes of datasets and experiments. A scoped caller sees and writes only those of its owner. */
export function serveEvaluations(app: FastifyInstance, deps: Deps): void {
  serveDatasets(app, deps)
  serveExperiments(app, deps)
}

function serveDatasets(app: FastifyInstance, { datasets }: Deps): void {
  bind(app, datasetRoutes.list, async ({ query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => datasets.list(caller, page),
      ({ id }) => id,
    )
    return { datasets: items, next_cursor }
  })
  bind(app, datasetRoutes.create, ({ body: { name, description = null } }, caller, { actor, idempotency }) =>
    datasets.create({ name, description }, { caller, actor, idempotency }),
  )
  bind(app, datasetRoutes.get, ({ params }, caller) => datasets.get(params.dataset_id, caller))
  bind(app, datasetRoutes.remove, ({ params }, caller, { actor }) =>
    datasets.remove(params.dataset_id, { caller, actor }),
  )
  bind(app, datasetRoutes.cases, async ({ params, query }, caller) => {
    const load = (page: Parameters<Datasets['cases']>[2]) => datasets.cases(params.dataset_id, caller, page)
    const { items, next_cursor } = await pageOf(query, load, placeOf)
    return { cases: items.map(({ shown }) => shown), next_cursor }
  })
  bind(app, datasetRoutes.add, ({ params, body: { cases, redact = false } }, caller, { actor }) =>
    datasets.add(params.dataset_id, { cases, redact }, { caller, actor }),
  )
  bind(app, datasetRoutes.removeCase, ({ params }, caller, { actor }) =>
    datasets.removeCase(params.dataset_id, params.case_id, { caller, actor }),
  )
}

function serveExperiments(app: FastifyInstance, { experiments }: Deps): void {
  bind(app, experimentRoutes.list, async ({ query }, caller) => {
    const { dataset_id: datasetId, agent_id: agentId, state } = query
    const { items, next_cursor } = await pageOf(
      query,
      page => experiments.list(caller, { ...page, datasetId, agentId, state }),
      ({ id }) => id,
    )
    return { experiments: items, next_cursor }
  })
  bind(app, experimentRoutes.create, ({ body }, caller, { actor, idempotency }) =>
    experiments.create(body, { caller, actor, idempotency }),
  )
  bind(app, experimentRoutes.get, ({ params }, caller) => experiments.get(params.experiment_id, caller))
  bind(app, experimentRoutes.cases, async ({ params, query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => experiments.cases(params.experiment_id, caller, { ...page, state: query.state }),
      placeOf,
    )
    return { cases: items.map(({ shown }) => shown), next_cursor }
  })
  bind(app, experimentRoutes.cancel, ({ params }, caller, { actor }) =>
    experiments.cancel(params.experiment_id, { caller, actor }),
  )
  bind(app, experimentRoutes.compare, ({ params, query }, caller) =>
    experiments.compare(params.experiment_id, query.with, caller),
  )
  bind(app, experimentRoutes.remove, ({ params }, caller, { actor }) =>
    experiments.remove(params.experiment_id, { caller, actor }),
  )
}
