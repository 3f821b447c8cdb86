import type { AgentStore } from '../agents/store.ts'
import type { Caller } from '../http/caller.ts'
import type { RunAs } from '../keys/run-as.ts'
import type { RunningExperiment } from './run-store.ts'

interface Deps {
  readonly agents: Pick<AgentStore, 'find'>
  readonly runAs: RunAs
}

/** Returns who pays for an experiment: the key that started it, else that of its agent. Rejects with `conflict`. */
export type CallerOf = (
  experiment: Pick<RunningExperiment, 'principal' | 'key_id' | 'agent_id' | 'owner_id'>,
) => Promise<Caller>

export const createCallerOf =
  ({ agents, runAs }: Deps): CallerOf =>
  async ({ principal, key_id, agent_id, owner_id: ownerId }) => {
    const agent = key_id === null && agent_id !== null ? await agents.find(agent_id, ownerId) : undefined
    return runAs({ principal, ownerId, runAsKeyId: key_id ?? agent?.run_as_key_id ?? null })
  }
