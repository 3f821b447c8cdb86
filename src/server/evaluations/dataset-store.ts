import type { Pool, PoolClient } from 'pg'
import type { CaseFileWrite, CaseSource, Dataset, DatasetCase } from '../../contract/datasets.ts'
import type { Grader } from '../../contract/graders.ts'
import type { RecordedCall } from '../tools/replay.ts'

type Queryable = Pool | PoolClient

/** A case to store. */
export interface NewCase {
  readonly id: string
  readonly name: string
  readonly prompts: readonly string[]
  readonly files: readonly CaseFileWrite[]
  readonly graders: readonly Grader[]
  readonly metadata: Readonly<Record<string, string>>
  readonly source: CaseSource | undefined
  readonly recorded: readonly RecordedCall[] | undefined
}

/** What a case gives a session. */
export type CaseContent = Pick<NewCase, 'prompts' | 'files' | 'graders' | 'recorded'>

interface DatasetRow extends Omit<Dataset, 'created_at' | 'updated_at'> {
  readonly created_at: Date
  readonly updated_at: Date
}

interface CaseRow extends Omit<DatasetCase, 'files' | 'source' | 'created_at'> {
  readonly files: DatasetCase['files']
  readonly position: number
  readonly source_session_id: string | null
  readonly source_prompt_id: string | null
  readonly created_at: Date
}

interface PageOf {
  readonly after: string | undefined
  readonly limit: number
}

const datasetColumns = `
  d.id, d.name, d.description, d.owner_id, d.created_at, d.updated_at,
  (select count(*)::int from dataset_cases c where c.dataset_id = d.id) as cases`

/** Files without their content. */
const shownFiles = `
  (select coalesce(json_agg(json_build_object(
     'name', f ->> 'name', 'media_type', f ->> 'media_type',
     'size', length(f ->> 'data') * 3 / 4 - length(substring(f ->> 'data' from '=*$'))) order by at), '[]')
   from json_array_elements(c.files) with ordinality as each (f, at))`

const caseColumns = `
  c.id, c.dataset_id, c.position, c.name, c.prompts, ${shownFiles} as files, c.graders, c.metadata, c.source_session_id,
  c.source_prompt_id, c.recorded_calls, c.created_at`

const toDataset = ({ created_at, updated_at, ...row }: DatasetRow): Dataset => ({
  ...row,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
})

const toCase = (row: CaseRow): DatasetCase => {
  const { position: _position, source_session_id: session_id, source_prompt_id: prompt_id, created_at, ...shown } = row
  const source = session_id === null || prompt_id === null ? null : { session_id, prompt_id }
  return { ...shown, source, created_at: created_at.toISOString() }
}

/** Position of a case in its dataset. */
export interface PlacedCase {
  readonly position: number
  readonly shown: DatasetCase
}

/** Tables `datasets` and `dataset_cases`. */
export type DatasetStore = ReturnType<typeof datasetStore>

export function datasetStore(pool: Pool) {
  /** Returns the dataset; undefined when `owner` has none with that id. */
  async function find(id: string, owner: string | undefined, on: Queryable = pool): Promise<Dataset | undefined> {
    const text = `select ${datasetColumns} from datasets d where d.id = $1 and ($2::text is null or d.owner_id = $2)`
    const [row] = (await on.query<DatasetRow>(text, [id, owner])).rows
    return row && toDataset(row)
  }

  return {
    find,

    async list(owner: string | undefined, { after, limit }: PageOf): Promise<Dataset[]> {
      const text = `
        select ${datasetColumns} from datasets d
        where ($1::text is null or d.owner_id = $1) and ($2::text is null or d.id < $2) order by d.id desc limit $3`
      return (await pool.query<DatasetRow>(text, [owner, after, limit])).rows.map(toDataset)
    },

    async insert(on: Queryable, given: Pick<Dataset, 'id' | 'owner_id' | 'name' | 'description'>): Promise<void> {
      const { id, owner_id, name, description } = given
      const text = 'insert into datasets (id, owner_id, name, description) values ($1, $2, $3, $4)'
      await on.query(text, [id, owner_id, name, description])
    },

    /** Locks the dataset until the end of the transaction. Returns undefined when `owner` has none with that id. */
    async lock(on: PoolClient, id: string, owner: string | undefined): Promise<Dataset | undefined> {
      await on.query('select from datasets where id = $1 for update', [id])
      return find(id, owner, on)
    },

    async remove(on: PoolClient, id: string): Promise<void> {
      await on.query('delete from datasets where id = $1', [id])
    },

    /** Adds cases at the end of a locked dataset. */
    async add(on: PoolClient, datasetId: string, cases: readonly NewCase[]): Promise<void> {
      const text = `
        insert into dataset_cases
          (id, dataset_id, position, name, prompts, files, graders, metadata, source_session_id, source_prompt_id, recorded, recorded_calls)
        values ($1, $2, (select coalesce(max(position), 0) + 1 from dataset_cases where dataset_id = $2),
                $3, $4, $5, $6, $7, $8, $9, $10, $11)`
      for (const { id, name, prompts, files, graders, metadata, source, recorded } of cases) {
        const contents = [prompts, files, graders, metadata].map(content => JSON.stringify(content))
        const ofSource = [source?.session_id, source?.prompt_id]
        const recording = [recorded && JSON.stringify(recorded), recorded?.length]
        await on.query(text, [id, datasetId, name, ...contents, ...ofSource, ...recording])
      }
      await on.query('update datasets set updated_at = clock_timestamp() where id = $1', [datasetId])
    },

    /** Returns cases in their order, with their positions. */
    async cases(datasetId: string, { after, limit }: PageOf): Promise<PlacedCase[]> {
      const text = `
        select ${caseColumns} from dataset_cases c
        where c.dataset_id = $1 and c.position > $2 order by c.position limit $3`
      const { rows } = await pool.query<CaseRow>(text, [datasetId, Number(after ?? 0), limit])
      return rows.map(row => ({ position: row.position, shown: toCase(row) }))
    },

    /** Returns cases that were just added, in their order. */
    async casesOf(on: Queryable, ids: readonly string[]): Promise<DatasetCase[]> {
      const text = `select ${caseColumns} from dataset_cases c where c.id = any ($1) order by c.position`
      return (await on.query<CaseRow>(text, [ids])).rows.map(toCase)
    },

    /** Returns false when the dataset has no such case. */
    async removeCase(on: PoolClient, datasetId: string, id: string): Promise<boolean> {
      const text = 'delete from dataset_cases where dataset_id = $1 and id = $2'
      return (await on.query(text, [datasetId, id])).rowCount === 1
    },

    /** Returns the content of a case; undefined once it is deleted. */
    async content(id: string): Promise<CaseContent | undefined> {
      const text = 'select prompts, files, graders, recorded from dataset_cases where id = $1'
      const [row] = (await pool.query<CaseContent & { recorded: CaseContent['recorded'] | null }>(text, [id])).rows
      return row && { ...row, recorded: row.recorded ?? undefined }
    },

    /** Returns the name of a case of the dataset that a replay cannot run, and why; undefined if there is none. */
    async notReplayable(
      datasetId: string,
    ): Promise<{ readonly name: string; readonly has_recording: boolean } | undefined> {
      const text = `
        select name, recorded_calls is not null as has_recording from dataset_cases
        where dataset_id = $1 and (recorded_calls is null or exists (
          select from json_array_elements(graders) as g where g ->> 'type' = 'command'))
        order by position limit 1`
      return (await pool.query<{ name: string; has_recording: boolean }>(text, [datasetId])).rows[0]
    },
  }
}
