import type { DeploymentRun, ManagedDeployment } from '../../../contract/managed-deployments.ts'
import type { DeploymentRow } from './deployment-store.ts'
import type { RunRow } from './run-store.ts'
import type { DeploymentTiming } from './timing.ts'

/** Returns a deployment as an object of the dialect. */
export function toDeployment(row: DeploymentRow, upcoming: DeploymentTiming['upcoming']): ManagedDeployment {
  const { initial_events = [], resources = [], vault_ids = [], budget = null, environment_id } = row.start
  const isPaused = row.paused_at !== null && row.archived_at === null
  return {
    id: row.id,
    type: 'deployment',
    name: row.name,
    description: row.description,
    agent: { id: row.agent_id, type: 'agent', version: row.agent_version },
    environment_id,
    initial_events: initial_events.map(event => ({ ...event })),
    resources: resources.map(resource => ({ ...resource })),
    vault_ids: [...vault_ids],
    budget: budget && { ...budget },
    metadata: { ...row.metadata },
    schedule: scheduleOf(row, upcoming),
    status: isPaused ? 'paused' : 'active',
    paused_reason: isPaused ? { type: 'manual' } : null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    archived_at: row.archived_at?.toISOString() ?? null,
  }
}

function scheduleOf(row: DeploymentRow, upcoming: DeploymentTiming['upcoming']) {
  const { cron, timezone, last_run_at, archived_at } = row
  if (cron === null || timezone === null) return null
  return {
    type: 'cron' as const,
    expression: cron,
    timezone,
    last_run_at: last_run_at?.toISOString() ?? null,
    upcoming_runs_at: archived_at ? [] : upcoming(row).map(time => time.toISOString()),
  }
}

export const toDeploymentRun = (row: RunRow): DeploymentRun => ({
  id: row.id,
  type: 'deployment_run',
  deployment_id: row.deployment_id,
  agent: { id: row.agent_id, type: 'agent', version: row.agent_version },
  session_id: row.session_id,
  error: row.error,
  trigger_context: row.scheduled_at
    ? { type: 'schedule', scheduled_at: row.scheduled_at.toISOString() }
    : { type: 'manual' },
  created_at: row.created_at.toISOString(),
})
