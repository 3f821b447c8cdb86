import type { FastifyInstance } from 'fastify'
import type { SessionDetails, SessionSummary } from '../../contract/session-summaries.ts'
import { sessionRoutes } from '../../contract/sessions.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import { timeRangeOf } from '../http/time-range.ts'
import { activityOf } from './activity.ts'
import { type SessionRow, toSession } from './session-row.ts'
import type { Sessions } from './sessions.ts'
import type { SummaryRow, SummaryStore } from './summary-store.ts'

interface Deps {
  readonly sessions: Pick<Sessions, 'list' | 'find'>
  readonly store: SummaryStore
}

/** Serves sessions with what they do and cost. */
export function serveSummaries(app: FastifyInstance, { sessions, store }: Deps): void {
  async function summariesOf(rows: readonly SessionRow[]): Promise<SessionSummary[]> {
    if (rows.length === 0) return []
    const figures = await store.of(rows.map(({ id }) => id))
    return rows.flatMap(row => {
      const found = figures.get(row.id)
      return found ? [toSummary(row, found)] : []
    })
  }

  bind(app, sessionRoutes.summaries, async ({ query }, caller) => {
    const { agent_id: agentId, owner_id: ownerId, status, q, include_deleted: withDeleted = false } = query
    const { from, to: before } = timeRangeOf(query)
    const filter = { agentId, ownerId, status, text: q, from, before, withDeleted }
    const { items, next_cursor } = await pageOf(
      query,
      page => sessions.list(filter, caller, page),
      ({ id }) => id,
    )
    return { sessions: await summariesOf(items), next_cursor }
  })
  bind(app, sessionRoutes.summary, async ({ params }, caller) => {
    const row = await sessions.find(params.session_id, caller)
    const figures = (await store.of([row.id])).get(row.id)
    if (!figures) throw new Error(`session ${row.id} has no figures (bug)`)
    return { ...toSummary(row, figures), lease: leaseOf(figures) }
  })
}

function leaseOf({ lease_owner: owner, lease_until: until }: SummaryRow): SessionDetails['lease'] {
  return owner === null || !until ? null : { owner, expires_at: until.toISOString() }
}

function toSummary(row: SessionRow, figures: SummaryRow): SessionSummary {
  const { status } = toSession(row)
  const { prompt_state: state, wait_kind: kind, wait_since: since } = figures
  const isOpen = state === 'running' || state === 'waiting'
  const started = state === 'running' ? iso(figures.prompt_started_at) : null
  return {
    id: row.id,
    title: row.title,
    owner_id: row.owner_id,
    agent_id: row.agent_id,
    agent_name: figures.agent_name,
    agent_version: row.agent_version,
    runtime: row.runtime,
    model: figures.model,
    status,
    activity: activityOf({
      isDeleted: row.deleted_at !== null,
      hasFailed: status === 'error',
      prompt: isOpen ? { state, since: started ?? iso(figures.prompt_created_at) } : undefined,
      wait: isOpen && kind && since ? { kind, since: since.toISOString(), until: iso(figures.wait_until) } : undefined,
      tail: figures.tail.map(event => ({ ...event, at: new Date(event.at).toISOString() })),
    }),
    waiting_prompts: figures.waiting_prompts,
    requests: figures.requests,
    input_tokens: figures.input_tokens,
    cached_tokens: figures.cached_tokens,
    output_tokens: figures.output_tokens,
    cost_usd: figures.cost_usd,
    unpriced_requests: figures.unpriced_requests,
    budget: figures.has_budget
      ? {
          max_usd: figures.max_usd,
          spent_usd: figures.spent_usd ?? '0',
          reserved_usd: figures.reserved_usd ?? '0',
          reset_at: iso(figures.reset_at),
        }
      : null,
    parent_session_id: row.ancestors[0] ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    started_at: started,
    deleted_at: iso(row.deleted_at),
  }
}

const iso = (time: Date | null): string | null => time?.toISOString() ?? null
