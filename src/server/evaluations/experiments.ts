import type { Pool, PoolClient } from 'pg'
import type { Experiment, ExperimentComparison, ExperimentCreate } from '../../contract/experiments.ts'
import type { SessionCreate } from '../../contract/new-sessions.ts'
import type { Agents } from '../agents/agents.ts'
import type { AgentStore } from '../agents/store.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import type { Audit } from '../audit/audit.ts'
import type { BudgetStore } from '../budgets/store.ts'
import { transaction } from '../db/connect.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Actor, By, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { runAsOf } from '../http/reach.ts'
import { AppError, invalid, invalidCursor, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { experimentSource } from '../tools/replay.ts'
import { comparisonOf, type WithCases } from './comparison.ts'
import type { DatasetStore } from './dataset-store.ts'
import type { Datasets } from './datasets.ts'
import type { ExperimentStore, NewExperiment, PlacedResult, StopFilter } from './experiment-store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: ExperimentStore
  readonly datasets: Pick<Datasets, 'get'>
  readonly cases: Pick<DatasetStore, 'notReplayable'>
  readonly agents: Pick<AgentStore, 'find'>
  readonly diff: Agents['diff']
  readonly sessions: Pick<Sessions, 'check'>
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
  readonly budgets: Pick<BudgetStore, 'setLimits' | 'remove'>
  readonly audit: Audit
}

interface Creating extends By {
  readonly idempotency: Idempotency | undefined
}

interface PageOf {
  readonly after: string | undefined
  readonly limit: number
}

interface ListOf extends PageOf {
  readonly datasetId: string | undefined
  readonly agentId: string | undefined
  readonly state: Experiment['state'] | undefined
}

interface CasesOf extends PageOf {
  readonly state: Parameters<ExperimentStore['cases']>[1]['state']
}

const defaults = { max_parallel: 10, case_timeout_seconds: 900, replay: false } as const
const nullable = {
  model: null,
  system: null,
  max_budget_usd: null,
  case_budget_usd: null,
  judge_budget_usd: null,
} as const
const casesOfPage = 1_000
const maxNameLength = 200

/** Rules of experiments: who may see which, and which cannot run. */
export type Experiments = ReturnType<typeof createExperiments>

export function createExperiments(deps: Deps) {
  const { pool, store, datasets, sessions, runtimes, budgets, audit } = deps

  async function get(id: string, { ownerScope }: Caller): Promise<Experiment> {
    const found = await store.find(id, ownerScope)
    if (!found) throw notFound('experiment', id)
    return found
  }

  const record = (client: PoolClient, verb: string, { experiment, actor, ...change }: Change): Promise<void> =>
    audit.record(sqlOfClient(client), {
      actor,
      action: `experiment.${verb}`,
      objectId: experiment.id,
      ownerId: experiment.owner_id,
      ...change,
    })

  /** Returns the agent version that runs; undefined for a model without an agent. */
  async function subjectOf(
    { agent_id, agent_version }: ExperimentCreate,
    caller: Caller,
  ): Promise<Subject | undefined> {
    if (agent_id === undefined) return undefined
    const agent = await deps.agents.find(agent_id, caller.ownerScope)
    if (!agent) throw notFound('agent', agent_id)
    const pinned = agent.config['pinned_version']
    return { agent, version: agent_version ?? (typeof pinned === 'number' ? pinned : agent.version) }
  }

  /** Completes and checks the values. Throws for an experiment that could not run. */
  async function planned(write: ExperimentCreate, caller: Caller): Promise<NewExperiment> {
    checkFields(write)
    const dataset = await datasets.get(write.dataset_id, caller)
    if (dataset.cases === 0) throw new AppError('conflict', `dataset ${dataset.id} has no cases; add some first`)
    const subject = await subjectOf(write, caller)
    const label = subject ? `${subject.agent.name} v${subject.version}` : write.model
    const given: NewExperiment = {
      ...defaults,
      ...nullable,
      ...write,
      ...(subject
        ? { agent_id: subject.agent.id, agent_version: subject.version, owner_id: subject.agent.owner_id ?? '' }
        : { agent_id: null, agent_version: null, owner_id: caller.ownerScope ?? caller.principal }),
      id: newId('exp'),
      name: write.name ?? `${label} on ${dataset.name}`.slice(0, maxNameLength),
      dataset_name: dataset.name,
      principal: caller.principal,
      key_id: runAsOf(caller),
    }
    const runtime = await sessions.check(sessionOf(given), caller)
    if (given.replay) await checkReplay(given, runtime)
    return given
  }

  async function checkReplay({ dataset_id }: NewExperiment, runtime: string): Promise<void> {
    if (!(await runtimes.find(runtime))?.capabilities.replay)
      throw invalid(`replay is not supported by runtime ${runtime} (replay is false in its capabilities)`)
    const wrong = await deps.cases.notReplayable(dataset_id)
    if (!wrong) return
    const why = wrong.has_recording
      ? 'has a command grader, which needs a sandbox'
      : 'has no recorded tool results; add it from a prompt of a session'
    throw invalid(`replay: case ${JSON.stringify(wrong.name)} ${why}`)
  }

  async function allCases(id: string): Promise<PlacedResult['shown'][]> {
    const all: PlacedResult['shown'][] = []
    for (let after: string | undefined; ; ) {
      const page = await store.cases(id, { state: undefined, after, limit: casesOfPage })
      all.push(...page.map(({ shown }) => shown))
      if (page.length < casesOfPage) return all
      after = String(page.at(-1)?.position)
    }
  }

  async function ended(id: string, caller: Caller): Promise<WithCases> {
    const experiment = await get(id, caller)
    if (experiment.ended_at === null)
      throw new AppError('conflict', `experiment ${id} is ${experiment.state}; compare it once it has ended`)
    return { experiment, cases: await allCases(id) }
  }

  async function agentChanges(base: Experiment, other: Experiment, caller: Caller) {
    if (base.agent_id === null || base.agent_id !== other.agent_id) return null
    const versions = { from: base.agent_version ?? 0, to: other.agent_version ?? 0 }
    try {
      return (await deps.diff(base.agent_id, versions, caller)).changes
    } catch (error) {
      // The agent was deleted since.
      if (error instanceof AppError && error.code === 'not_found') return null
      throw error
    }
  }

  return {
    get,

    list: ({ ownerScope }: Caller, filter: ListOf): Promise<Experiment[]> =>
      store.list({ ...filter, owner: ownerScope }),

    /** Stores an experiment, which any process then runs. */
    async create(write: ExperimentCreate, { caller, actor, idempotency }: Creating): Promise<Experiment> {
      const given = await planned(write, caller)
      return transaction(pool, client =>
        once(sqlOfClient(client), idempotency, async () => {
          await store.insert(client, given)
          if (given.judge_budget_usd !== null)
            await budgets.setLimits(client, judgeBudget(given.id), {
              max_usd: String(given.judge_budget_usd),
              ...noLimits,
            })
          const { system: _system, ...shown } = given
          await record(client, 'create', { experiment: given, actor, after: shown })
          const stored = await store.find(given.id, undefined, client)
          if (!stored) throw new Error(`experiment ${given.id} is missing right after its creation (bug)`)
          return stored
        }),
      )
    },

    /** Cancels an experiment; one that has ended stays as it is. */
    async cancel(id: string, { caller, actor }: By): Promise<Experiment> {
      return transaction(pool, async client => {
        const before = await store.lock(client, id, caller.ownerScope)
        if (!before) throw notFound('experiment', id)
        if (await store.cancel(client, id, 'cancelled on request'))
          await record(client, 'cancel', { experiment: before, actor, before: { state: before.state } })
        return (await store.find(id, undefined, client)) ?? before
      })
    },

    /** Cancels the experiments that a kill switch stops; the stop itself is in the audit log. */
    stop: (filter: StopFilter, reason: string): Promise<number> =>
      transaction(pool, client => store.cancelAll(client, filter, reason)),

    async remove(id: string, { caller, actor }: By): Promise<void> {
      await transaction(pool, async client => {
        const before = await store.lock(client, id, caller.ownerScope)
        if (!before) throw notFound('experiment', id)
        if (before.ended_at === null)
          throw new AppError(
            'conflict',
            `experiment ${id} is ${before.state}; cancel it and delete it once it has ended`,
          )
        await store.remove(client, id)
        await budgets.remove(client, judgeBudget(id))
        await record(client, 'delete', { experiment: before, actor, before: { id, name: before.name } })
      })
    },

    async cases(id: string, caller: Caller, page: CasesOf): Promise<PlacedResult[]> {
      await get(id, caller)
      if (page.after !== undefined && !/^\d{1,9}$/.test(page.after)) throw invalidCursor()
      return store.cases(id, page)
    },

    /**
     * Compares an experiment with an earlier one, by default the one before it. Throws `conflict` while one of them runs, and
     * when there is none.
     */
    async compare(id: string, baseId: string | undefined, caller: Caller): Promise<ExperimentComparison> {
      const other = await ended(id, caller)
      const { dataset_id: datasetId } = other.experiment
      const before = baseId ?? (await store.endedBefore(id, { datasetId, owner: caller.ownerScope }))
      if (before === undefined)
        throw new AppError('conflict', `no experiment on dataset ${datasetId} has ended before ${id}; name one in with`)
      const base = await ended(before, caller)
      if (base.experiment.dataset_id !== other.experiment.dataset_id)
        throw invalid('with: the experiments ran on different datasets')
      return {
        base: base.experiment,
        other: other.experiment,
        ...comparisonOf(base, other),
        agent_changes: await agentChanges(base.experiment, other.experiment, caller),
      }
    },
  }
}

interface Subject {
  readonly agent: StoredAgent
  readonly version: number
}

/** Throws for fields that exclude each other. */
function checkFields(write: ExperimentCreate): void {
  const { agent_id, agent_version, model, system, case_budget_usd: ofCase, max_budget_usd: ofAll } = write
  if (agent_id === undefined && model === undefined) throw invalid('agent_id or model is required')
  if (agent_id === undefined && agent_version !== undefined) throw invalid('agent_version requires agent_id')
  if (agent_id !== undefined && system !== undefined)
    throw invalid('system is for a model without an agent; make an agent version with that system prompt')
  if (ofCase !== undefined && ofAll !== undefined && ofCase > ofAll)
    throw invalid('case_budget_usd must not exceed max_budget_usd')
}

interface Change {
  readonly experiment: Pick<Experiment, 'id' | 'owner_id'>
  readonly actor: Actor
  readonly before?: object
  readonly after?: object
}

/** Judges are booked under the id of their experiment, as calls of a session are booked under its id. */
const judgeBudget = (id: string) => ({ scope: 'session', scope_id: id }) as const

const noLimits = { soft_usd: null, duration: null, rpm_limit: null, tpm_limit: null, max_parallel: null } as const

/** A model without an agent has no tools: the answer is that of one request. */
const noTools = [{ type: 'agent_toolset_20260401', default_config: { enabled: false } }]

type SessionFacts = Pick<NewExperiment, 'id' | 'name' | 'agent_id' | 'agent_version' | 'model' | 'system' | 'replay'>

/** Body of the session of a case. */
export function sessionOf(
  experiment: SessionFacts,
  ofCase?: { readonly id: string; readonly name: string },
): SessionCreate {
  const { id, name, agent_id, agent_version, model, system, replay } = experiment
  const origin = { source: experimentSource, experiment_id: id, ...(ofCase && { case_id: ofCase.id }) }
  return {
    title: ofCase ? `${name}: ${ofCase.name}`.slice(0, maxNameLength) : name,
    ...(agent_id !== null && { agent_id }),
    ...(agent_version !== null && { agent_version }),
    ...(model !== null && { model }),
    metadata: { experiment_id: id, ...(ofCase && { case_id: ofCase.id }) },
    environment: {
      ...origin,
      ...(replay && { replay }),
      ...(agent_id === null && { agent_overrides: { system: system ?? '', tools: noTools } }),
    },
  }
}
