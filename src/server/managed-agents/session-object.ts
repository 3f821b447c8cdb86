import type { DialectSession, ManagedBudget, ManagedResource, ManagedStatus } from '../../contract/managed-sessions.ts'
import { type OutcomeEvaluation, progressOf, type StoredOutcome } from '../../contract/outcomes.ts'
import type { SessionStatus } from '../../contract/session-status.ts'
import type { Session } from '../../contract/sessions.ts'
import type { Snapshot } from './agent-object.ts'
import { centsOf } from './money.ts'
import type { FileResource } from './resources/file-resource-store.ts'
import type { SessionDetails, SessionMemoryStore } from './session-details-store.ts'

/** Source data of a session object. */
export interface SessionParts {
  readonly session: Session
  readonly details: SessionDetails
  /** The agent as the session runs it; undefined for a session without one. */
  readonly agent: Snapshot | undefined
}

/** Returns a session as an object of the dialect. Source: Dialects, section 1.5. */
export function toDialectSession({ session, details, agent }: SessionParts): DialectSession {
  return {
    id: session.id,
    type: 'session',
    status: statusIn(session.status, details.archived_at !== null),
    title: details.is_untitled ? null : session.title,
    agent: agent ?? withoutAgent(session),
    environment_id: details.environment_id,
    metadata: { ...session.metadata },
    resources: [
      ...resourcesOf(session),
      ...details.files.map(fileResource),
      ...details.memory_stores.map(storeResource),
    ],
    vault_ids: [...details.vault_ids],
    outcome_evaluations: details.outcomes.map(evaluationOf),
    stats: { active_seconds: details.active_seconds, duration_seconds: details.duration_seconds },
    usage: usageOf(details),
    budget: budgetOf(details.max_usd),
    deployment_id: details.deployment_id,
    created_at: new Date(session.time.created).toISOString(),
    updated_at: details.updated_at.toISOString(),
    archived_at: details.archived_at?.toISOString() ?? null,
  }
}

const evaluationOf = (stored: StoredOutcome): OutcomeEvaluation => ({
  type: 'outcome_evaluation',
  outcome_id: stored.outcome.outcome_id,
  description: stored.outcome.description,
  ...progressOf(stored),
})

/** Maps the status of a session to the dialect. An archived session is terminated. */
export function statusIn(status: SessionStatus, isArchived: boolean): ManagedStatus {
  if (isArchived) return 'terminated'
  switch (status) {
    case 'pending':
    case 'running':
      return 'running'
    case 'idle':
    case 'error':
      return 'idle'
  }
}

/** Placeholder, because every session of the dialect has an agent. */
const withoutAgent = ({ harness, environment }: Session): Snapshot => ({
  id: '',
  type: 'agent',
  version: 1,
  name: harness,
  description: null,
  model: { id: typeof environment['model'] === 'string' ? environment['model'] : '' },
  system: null,
  tools: [],
  mcp_servers: [],
  skills: [],
  multiagent: null,
  execution_identity: { type: 'service_account' },
})

const fileResource = ({ id, file_id, mount_path, created_at }: FileResource): ManagedResource => ({
  type: 'file',
  id,
  file_id,
  mount_path,
  created_at: created_at.toISOString(),
  updated_at: created_at.toISOString(),
})

const storeResource = ({ store_id, created_at, ...store }: SessionMemoryStore): ManagedResource => ({
  type: 'memory_store',
  memory_store_id: store_id,
  id: store.id,
  access: store.access,
  name: store.name,
  description: store.description,
  instructions: store.instructions,
  mount_path: store.mount_path,
  created_at: created_at.toISOString(),
  updated_at: created_at.toISOString(),
})

/** Returns the repository of a session, from its environment, as a resource. */
export function resourcesOf({ id, environment, time }: Session): ManagedResource[] {
  const { repository, ref, mount_path: path } = environment
  if (typeof repository !== 'string') return []
  const created = new Date(time.created).toISOString()
  return [
    {
      id: `sesrsc_${id.slice(id.indexOf('_') + 1)}`,
      type: 'github_repository',
      url: repository,
      checkout: checkoutOf(ref),
      mount_path: typeof path === 'string' ? path : `/workspace/${nameOf(repository)}`,
      created_at: created,
      updated_at: created,
    },
  ]
}

function checkoutOf(ref: unknown): Record<string, unknown> | null {
  if (typeof ref !== 'string' || ref === '') return null
  return /^[0-9a-f]{40}([0-9a-f]{24})?$/i.test(ref) ? { type: 'commit', sha: ref } : { type: 'branch', name: ref }
}

/** Returns the last path segment of a repository URL, without `.git`. */
const nameOf = (url: string): string => /([^/:]+?)(\.git)?\/*$/.exec(url)?.[1] ?? 'repository'

const usageOf = (details: SessionDetails): DialectSession['usage'] => ({
  input_tokens: details.input_tokens,
  output_tokens: details.output_tokens,
  cache_read_input_tokens: details.cache_read_tokens,
  cache_creation: {
    ephemeral_5m_input_tokens: details.cache_write_5m_tokens,
    ephemeral_1h_input_tokens: details.cache_write_1h_tokens,
  },
  server_tool_use: { web_search_requests: details.web_searches },
  active_seconds: details.active_seconds,
  ...(details.cost_cents !== null && { list_cost: { amount: details.cost_cents, currency: 'USD' } }),
})

const budgetOf = (maxUsd: string | null): ManagedBudget | null =>
  maxUsd === null ? null : { type: 'limit', max_list_cost: { amount: centsOf(maxUsd), currency: 'USD' } }
