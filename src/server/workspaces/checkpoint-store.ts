import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import type { Pool, PoolClient } from 'pg'
import type { ListedCheckpoint } from '../../contract/files.ts'
import type { LeftOut } from './limits.ts'
import {
  applied,
  type Chain,
  type Change,
  emptyManifest,
  extendChain,
  type Manifest,
  noChain,
  readChange,
  sizeOf,
  writeChange,
} from './manifest.ts'

const compressed = promisify(zstdCompress)
const decompressed = promisify(zstdDecompress)
/** Enough for 20,000 files with long paths. */
const maxManifestBytes = 256 * 1024 * 1024

type Queryable = Pool | PoolClient

/** The files of a session as of an event of its log. */
export interface Checkpoint {
  readonly id: string
  readonly seq: number
  readonly created_at: Date
  readonly left_out: readonly LeftOut[]
}

/** A checkpoint that is ready to be stored. */
export interface NewCheckpoint {
  readonly id: string
  readonly manifest: Manifest
  /** Undefined when the checkpoint is stored with all its entries. */
  readonly change: Change | undefined
  /** Number of files and links that differ from the checkpoint before. */
  readonly changed: number
  readonly leftOut: readonly LeftOut[]
}

interface ManifestRow extends Checkpoint {
  readonly manifest: Buffer
}

/** Table `workspace_checkpoints`. */
export type CheckpointStore = ReturnType<typeof checkpointStore>

export function checkpointStore(pool: Pool) {
  return {
    /** Compresses the stored form of a checkpoint. Called before the transaction that stores it. */
    pack: ({ manifest, change }: NewCheckpoint): Promise<Buffer> =>
      compressed(Buffer.from(writeChange(change ?? { set: [...manifest.values()], removed: [] }))),

    /** Stores a checkpoint as of event `seq` and makes it the session's last one. */
    async insert(on: Queryable, sessionId: string, { seq, packed, checkpoint }: Insert): Promise<void> {
      const text = `
        with stored as (
          insert into workspace_checkpoints (session_id, seq, id, is_full, manifest, files, bytes, left_out, changed)
          values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        )
        update sessions set checkpoint_id = $3, checkpoint_seq = $2 where id = $1`
      const { id, manifest, change, leftOut, changed } = checkpoint
      const { files, bytes } = sizeOf(manifest)
      const values = [sessionId, seq, id, change === undefined, packed, files, bytes, JSON.stringify(leftOut), changed]
      await on.query(text, values)
    },

    /** Returns the checkpoints before event `before`, newest first, without their manifests. */
    async list(sessionId: string, { before, limit }: CheckpointsOf): Promise<ListedCheckpoint[]> {
      const text = `
        select c.id as checkpoint_id, c.seq, e.id as event_id, e.type as event_type, c.created_at, c.files, c.bytes, c.changed
        from workspace_checkpoints c left join session_events e on e.session_id = c.session_id and e.seq = c.seq
        where c.session_id = $1 and c.seq < $2 order by c.seq desc limit $3`
      const values = [sessionId, before ?? Number.MAX_SAFE_INTEGER, limit]
      const { rows } = await pool.query<Omit<ListedCheckpoint, 'created_at'> & { created_at: Date }>(text, values)
      return rows.map(row => ({ ...row, created_at: row.created_at.toISOString() }))
    },

    /** Returns the checkpoint that a fork started with; undefined for other sessions. */
    async first(sessionId: string): Promise<Loaded | undefined> {
      const text = 'select forked_at_seq as seq from sessions where id = $1 and forked_at_seq is not null'
      const { rows } = await pool.query<{ seq: number }>(text, [sessionId])
      return rows[0] && this.at(sessionId, rows[0].seq)
    },

    /**
     * Returns those of the given sessions that were deleted more than an hour ago, after their last machine has cleaned
     * up.
     */
    async deletedAmong(sessionIds: readonly string[]): Promise<string[]> {
      const text = `
        select id from sessions where id = any ($1) and deleted_at < clock_timestamp() - interval '1 hour'`
      return (await pool.query<{ id: string }>(text, [sessionIds])).rows.map(({ id }) => id)
    },

    /** Returns the last checkpoint at or before event `seq` with its manifest; undefined when there is none. */
    async at(sessionId: string, seq = Number.MAX_SAFE_INTEGER): Promise<Loaded | undefined> {
      const text = `
        select id, seq, created_at, left_out, manifest from workspace_checkpoints
        where session_id = $1 and seq <= $2 and seq >= (
          select max(seq) from workspace_checkpoints where session_id = $1 and seq <= $2 and is_full)
        order by seq`
      const { rows } = await pool.query<ManifestRow>(text, [sessionId, seq])
      const last = rows.at(-1)
      if (!last) return undefined
      let manifest: Manifest = emptyManifest
      let chain = noChain
      for (const [at, row] of rows.entries()) {
        const json = await decompressed(row.manifest, { maxOutputLength: maxManifestBytes })
        const change = readChange(json.toString())
        manifest = applied(manifest, change)
        if (at > 0) chain = extendChain(chain, change)
      }
      const { id, created_at, left_out } = last
      return { id, seq: last.seq, created_at, left_out, manifest, chain }
    },
  }
}

interface CheckpointsOf {
  /** Number of an event; undefined begins with the last checkpoint. */
  readonly before: number | undefined
  readonly limit: number
}

interface Insert {
  /** Number of the last event that the files belong to. */
  readonly seq: number
  /** Result of `pack`. */
  readonly packed: Buffer
  readonly checkpoint: NewCheckpoint
}

export interface Loaded extends Checkpoint {
  readonly manifest: Manifest
  readonly chain: Chain
}
