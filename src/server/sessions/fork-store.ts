import type { PoolClient } from 'pg'

/** A session that starts with a copied part of another session's log. */
interface Copy {
  readonly id: string
  readonly fromId: string
  /** Number of the last event that is copied. */
  readonly seq: number
}

// Event numbers are preserved, because checkpoints and cursors refer to them.
const copyEventsText = `
  with copied as (
    insert into session_events (session_id, seq, id, type, payload, bytes, fence, created_at)
    select $1, seq, id, type, payload, coalesce(bytes, octet_length(payload::text)), 0, created_at
    from session_events where session_id = $2 and seq <= $3
    returning bytes
  )
  update sessions
  set next_seq = $3 + 1, log_bytes = (select coalesce(sum(bytes), 0) from copied), forked_from_id = $2, forked_from_seq = $3
  where id = $1`

const copyCheckpointsText = `
  with copied as (
    insert into workspace_checkpoints (session_id, seq, id, is_full, manifest, files, bytes, changed, left_out, created_at)
    select $1, seq, 'chk_' || substr($1, 5) || '_' || seq, is_full, manifest, files, bytes, changed, left_out, created_at
    from workspace_checkpoints where session_id = $2 and seq <= $3
    returning id, seq
  ), needed as (
    insert into workspace_refs (session_id, owner_id, hash)
    select $1, owner_id, hash from workspace_refs where session_id = $2 and exists (select from copied)
  )
  update sessions set checkpoint_id = last.id, checkpoint_seq = last.seq
  from (select id, seq from copied order by seq desc limit 1) last where sessions.id = $1`

// Includes files of prompts after the copied part: which prompt carried a file is in the log only.
const copyFilesText = `
  with copied as (
    insert into session_files (session_id, hash, owner_id, bytes, pieces, created_at)
    select $1, hash, owner_id, bytes, pieces, created_at from session_files where session_id = $2
    returning owner_id, pieces
  )
  insert into workspace_refs (session_id, owner_id, hash)
  select distinct on (piece) $1, owner_id, piece from copied, unnest(pieces) piece
  on conflict (session_id, hash) do nothing`

/** Copies logs and checkpoints of sessions inside a transaction. */
export const forkStore = {
  /** Copies the log up to an event, its checkpoints and the files of prompts into a session that has neither. */
  async copy(on: PoolClient, { id, fromId, seq }: Copy): Promise<void> {
    await on.query(copyEventsText, [id, fromId, seq])
    await on.query(copyCheckpointsText, [id, fromId, seq])
    await on.query(copyFilesText, [id, fromId])
  },

  /** Records the last event that belongs to the copied part. */
  async close(on: PoolClient, id: string, seq: number): Promise<void> {
    await on.query('update sessions set forked_at_seq = $2 where id = $1', [id, seq])
  },
}
