import type { ManagedSessionCreate } from '../../../contract/managed-sessions.ts'
import type { Caller } from '../../http/caller.ts'
import { digestOf } from '../../platform/digest.ts'
import { AppError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import type { DialectSessions } from '../sessions.ts'
import type { DeploymentRow } from './deployment-store.ts'
import type { RunResult } from './run-store.ts'

interface Deps {
  readonly sessions: Pick<DialectSessions, 'create'>
  readonly log: Pick<Log, 'error'>
}

type Deployment = Pick<DeploymentRow, 'id' | 'name' | 'agent_id' | 'agent_version' | 'start'>

/** Returns the body of a session of a deployment. */
export const sessionOf = ({ name, agent_id: id, agent_version: version, start }: Omit<Deployment, 'id'>) =>
  ({ ...start, agent: { type: 'agent', id, version }, title: name }) satisfies ManagedSessionCreate

/** Starts the session of a run, for a caller that may be known only then. */
export type StartRun = ReturnType<typeof createRunStart>

/**
 * Returns the function that starts the session of a run. A run that is started again gets the same session. Throws only
 * when the database is unavailable: other errors are the result of the run.
 */
export const createRunStart =
  ({ sessions, log }: Deps) =>
  async (runId: string, deployment: Deployment, callerOf: () => Promise<Caller>): Promise<RunResult> => {
    try {
      const caller = await callerOf()
      const bodyHash = digestOf(runId)
      const idempotency = { principal: caller.principal, route: 'managed_deployments.run', key: runId, bodyHash }
      const how = { idempotency, deploymentId: deployment.id }
      const { session } = await sessions.create(sessionOf(deployment), caller, how)
      return { session_id: session.id, error: null }
    } catch (error) {
      if (error instanceof AppError && error.code === 'unavailable') throw error
      if (error instanceof AppError && error.code !== 'internal') return { session_id: null, error: errorOf(error) }
      log.error({ err: error, deployment_id: deployment.id }, 'could not start a run of a deployment')
      const message = 'could not start the run; the server log has the cause'
      return { session_id: null, error: { type: 'unknown_error', message } }
    }
  }

const errorOf = ({ code, message }: AppError) => ({
  type:
    code === 'rate_limited' ? ('session_rate_limited_error' as const) : ('session_creation_rejected_error' as const),
  message,
})
