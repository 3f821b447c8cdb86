import type { Pool } from 'pg'
import type { AgentStore } from '../../agents/store.ts'
import { transaction } from '../../db/connect.ts'
import type { Caller } from '../../http/caller.ts'
import type { RunAs } from '../../keys/run-as.ts'
import { createDueWork, type DueWork } from '../../platform/due-work.ts'
import { newId } from '../../platform/ids.ts'
import type { Log } from '../../platform/log.ts'
import type { DeploymentRow, DeploymentStore } from './deployment-store.ts'
import type { StartRun } from './run-start.ts'
import { type DeploymentRunStore, unstarted } from './run-store.ts'
import type { DeploymentTiming } from './timing.ts'

interface Deps {
  readonly pool: Pool
  readonly store: DeploymentStore
  readonly runs: DeploymentRunStore
  readonly agents: Pick<AgentStore, 'find'>
  readonly runAs: RunAs
  readonly start: StartRun
  readonly timing: Pick<DeploymentTiming, 'next'>
  readonly log: Pick<Log, 'warn'>
}

/**
 * Polls the database once a second for due deployments. A run is a row before its session is created, so that it starts
 * once: another process starts it when this one is killed. Times that passed while no server ran are one run.
 */
export function createDeploymentTicker(deps: Deps): DueWork {
  const { pool, store, runs, log } = deps

  /** Adds the run of a due deployment. Returns false when there is none. */
  const addDue = (): Promise<boolean> =>
    transaction(pool, async client => {
      const now = await store.now(client)
      const deployment = await store.lockDue(client, now)
      if (!deployment?.next_due_at) return false
      await runs.insert(client, deployment, { id: newId('drun'), scheduledAt: deployment.next_due_at, ...unstarted })
      await store.setNextDue(client, deployment.id, deps.timing.next(deployment, now), now)
      await runs.deleteOld(client, deployment.id)
      return true
    })

  /** Starts the oldest run. Returns false when there is none. */
  async function startOldest(): Promise<boolean> {
    const run = await runs.claim()
    const deployment = run && (await store.find(run.deployment_id, undefined))
    if (!deployment) return false
    const { id, agent_id, agent_version } = run
    try {
      const started = { ...deployment, agent_id, agent_version }
      await runs.settle(id, await deps.start(id, started, () => callerOf(deployment)))
    } catch (error) {
      await runs.release(id)
      throw error
    }
    return true
  }

  /** Returns the key that set up the deployment, else that of its agent, limited to the owner's objects. */
  async function callerOf({ principal, key_id, agent_id, owner_id: ownerId }: DeploymentRow): Promise<Caller> {
    const agent = key_id === null ? await deps.agents.find(agent_id, ownerId) : undefined
    return deps.runAs({ principal, ownerId, runAsKeyId: key_id ?? agent?.run_as_key_id ?? null })
  }

  return createDueWork({
    async steps() {
      const { is_due, is_open } = await runs.openWork()
      return [...(is_due ? [addDue] : []), ...(is_due || is_open ? [startOldest] : [])]
    },
    onError: cause => log.warn({ err: cause }, 'cannot run deployments; retrying in the next poll'),
  })
}
