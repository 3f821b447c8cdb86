/** A statement that finds rows which break a rule of the stored data; no row means that the rule holds. */
export interface IntegrityRule {
  /** What holds, as the user reads it. */
  readonly claim: string
  /** Returns a text per broken row as `row`. It must hold in every snapshot, also while a service runs. */
  readonly sql: string
}

// No rule reads into a payload: PostgreSQL rejects rows of json that contain \u0000.
export const integrityRules: readonly IntegrityRule[] = [
  {
    claim: 'the events of every session are numbered without gaps',
    sql: `
      select s.id as row
      from sessions s left join session_events e on e.session_id = s.id
      where s.purged_at is null
      group by s.id
      having count(e.seq) <> s.next_seq - 1
        or (count(e.seq) > 0 and (min(e.seq) <> 1 or max(e.seq) <> s.next_seq - 1))`,
  },
  {
    claim: 'no event is stored twice',
    sql: `select session_id || ' ' || id as row from session_events group by session_id, id having count(*) > 1`,
  },
  {
    claim: 'the fence never decreases along a log',
    sql: `
      select session_id || ' ' || seq as row from (
        select session_id, seq, fence, lag(fence) over (partition by session_id order by seq) as before
        from session_events) of_log
      where fence < before`,
  },
  {
    claim: 'a prompt that has ended has a time of its end, and no other has one',
    sql: `select id as row from prompts where (state in ('waiting', 'running')) <> (ended_at is null)`,
  },
  {
    claim: 'the last checkpoint of every session is stored',
    sql: `
      select s.id as row from sessions s
      where s.checkpoint_id is not null and s.purged_at is null and not exists (
        select from workspace_checkpoints c where c.session_id = s.id and c.id = s.checkpoint_id)`,
  },
  {
    claim: 'the content of every file in a checkpoint is stored',
    sql: `
      select r.session_id || ' ' || encode(r.hash, 'hex') as row
      from workspace_refs r left join workspace_blobs b using (owner_id, hash) where b.hash is null`,
  },
  {
    claim: 'stored content is unchanged',
    sql: `
      select encode(hash, 'hex') as row from workspace_blobs
      where encoding = 'raw' and data is not null and sha256(data) <> hash`,
  },
  {
    claim: 'budgets reserve what calls in flight have reserved',
    sql: `
      select b.scope || ' ' || b.scope_id as row
      from budgets b left join (
        select h.id, r.amount_usd from reservations r cross join lateral json_to_recordset(r.held_in) as h (id bigint)
      ) r using (id)
      group by b.scope, b.scope_id, b.reserved_usd
      having b.reserved_usd <> coalesce(sum(r.amount_usd), 0)`,
  },
]
