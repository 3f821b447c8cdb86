import type { Pool } from 'pg'
import type { WebhookCount, WebhookCountKind } from '../../contract/webhook-counts.ts'

/** Requests of one kind to one agent in one hour. */
export interface NewCount {
  readonly agent_id: string
  readonly kind: WebhookCountKind
  readonly hour: Date
  readonly count: number
  readonly last_at: Date
}

interface CountFilter {
  readonly owner: string | undefined
  readonly agent_id: string | undefined
  readonly from: Date | undefined
  readonly to: Date | undefined
}

const maxCounts = 1_000

/** Table `webhook_counts`. */
export type CountStore = ReturnType<typeof countStore>

export function countStore(pool: Pool) {
  return {
    /** Adds to the stored counts. */
    async add(rows: readonly NewCount[]): Promise<void> {
      const text = `
        insert into webhook_counts as c (agent_id, kind, hour, count, last_at)
        select * from unnest($1::text[], $2::text[], $3::timestamptz[], $4::int[], $5::timestamptz[])
        on conflict (agent_id, hour, kind) do update
          set count = c.count + excluded.count, last_at = greatest(c.last_at, excluded.last_at)`
      const column = <Name extends keyof NewCount>(name: Name) => rows.map(row => row[name])
      await pool.query(text, [column('agent_id'), column('kind'), column('hour'), column('count'), column('last_at')])
    },

    /** Returns the counts of existing agents, the highest first. */
    async list({ owner, agent_id, from, to }: CountFilter): Promise<WebhookCount[]> {
      const text = `
        select c.agent_id, c.kind, sum(c.count)::float8 as count, max(c.last_at) as last_at
        from webhook_counts c join agents a on a.id = c.agent_id
        where ($1::text is null or a.owner_id = $1) and ($2::text is null or c.agent_id = $2)
          and ($3::timestamptz is null or c.hour >= date_trunc('hour', $3::timestamptz))
          and ($4::timestamptz is null or c.hour < $4)
        group by c.agent_id, c.kind order by count desc, c.agent_id, c.kind limit ${maxCounts}`
      const { rows } = await pool.query<Omit<WebhookCount, 'last_at'> & { last_at: Date }>(text, [
        owner,
        agent_id,
        from,
        to,
      ])
      return rows.map(({ last_at, ...row }) => ({ ...row, last_at: last_at.toISOString() }))
    },
  }
}
