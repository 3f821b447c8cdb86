import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import { transaction } from '../../db/connect.ts'
import { type RunSql, sqlOfClient } from '../../db/once.ts'
import type { UploadedFile } from './skill-folder.ts'

/** A skill and its default version. */
export interface SkillHead {
  readonly id: string
  /** Name in the library. */
  readonly display_name: string
  /** Folder of the default version. */
  readonly name: string
  readonly description: string | null
  readonly default_version: number
  readonly default_version_id: string
  readonly latest_version: number
  readonly created_at: Date
  readonly updated_at: Date
}

/** A version of a skill, without its content. */
export interface SkillVersion {
  readonly id: string
  readonly skill_id: string
  readonly number: number
  readonly name: string
  readonly description: string | null
  readonly created_at: Date
}

/** A version with its instructions. */
export interface VersionText extends SkillVersion {
  readonly content: string
}

/** Values of a version that is uploaded. */
export interface NewVersion extends Pick<VersionText, 'description' | 'content'> {
  /** As SKILL.md has it. */
  readonly name: string
  readonly files: readonly UploadedFile[]
}

/** An agent's copy of a skill. */
export interface CopyRef {
  readonly id: string
  /** Number or id of the version that was asked for; undefined: the default version. */
  readonly version: string | undefined
  /** SHA-256 of the instructions. */
  readonly hash: Buffer
}

/** A version with other files than SKILL.md. */
export interface VersionFolder extends Pick<SkillVersion, 'skill_id' | 'number' | 'name'> {
  readonly paths: readonly string[]
}

/** Selects a version by number or by id. */
export type VersionRef = { readonly number: number } | { readonly id: string }

interface Page {
  readonly order: 'asc' | 'desc'
  readonly limit: number
}

export type Work<T> = (sql: RunSql) => Promise<T>

const headText = `
  select s.id, s.name as display_name, v.name, s.description, s.default_version, v.id as default_version_id,
         (select max(number) from skill_versions where skill_id = s.id) as latest_version, s.created_at, s.updated_at
  from skills s join skill_versions v on v.skill_id = s.id and v.number = s.default_version
  where s.owner_id = $1`

const columns = 'v.id, v.skill_id, v.number, v.name, v.description, v.created_at'
const mine = 'skill_versions v join skills s on s.id = v.skill_id where s.owner_id = $1 and v.skill_id = $2'

const dropUnusedText = `
  delete from skill_contents c where c.skill_id = $1
    and not exists (select from skill_files f where f.skill_id = c.skill_id and f.hash = c.hash)`

/** Tables `skill_versions`, `skill_files` and `skill_contents`. Every call is narrowed to one principal. */
export type SkillVersionStore = ReturnType<typeof skillVersionStore>

export function skillVersionStore(pool: Pool) {
  const rowsOf = async <T>(text: string, values: readonly unknown[]): Promise<T[]> =>
    (await pool.query(text, [...values])).rows as T[]

  return {
    changing: <T>(work: Work<T>): Promise<T> => transaction(pool, client => work(sqlOfClient(client))),

    /** Waits for other uploads of the owner, and returns the bytes of all files of its skills. */
    async lockOwner(sql: RunSql, owner: string): Promise<number> {
      await sql(`select pg_advisory_xact_lock(hashtextextended('skill files ' || $1, 0))`, [owner])
      const text = `
        select coalesce(sum(octet_length(c.content)), 0)::bigint as bytes
        from skill_contents c join skills s on s.id = c.skill_id where s.owner_id = $1`
      const [row] = (await sql(text, [owner])).rows as { readonly bytes: number }[]
      return row?.bytes ?? 0
    },

    /** Returns skills in the order of their creation. */
    heads(owner: string, { after, order, limit }: Page & { readonly after: string | undefined }): Promise<SkillHead[]> {
      const text = `${headText} and ($2::text is null or s.id ${order === 'asc' ? '>' : '<'} $2) order by s.id ${order} limit $3`
      return rowsOf(text, [owner, after ?? null, limit])
    },

    async head(owner: string, id: string): Promise<SkillHead | undefined> {
      return (await rowsOf<SkillHead>(`${headText} and s.id = $2`, [owner, id]))[0]
    },

    /** Locks a skill for the rest of the transaction; returns undefined when the owner has none with that id. */
    async lock(sql: RunSql, owner: string, id: string): Promise<SkillHead | undefined> {
      const { rows } = await sql('select from skills where owner_id = $1 and id = $2 for update', [owner, id])
      if (rows.length === 0) return undefined
      return (await sql(`${headText} and s.id = $2`, [owner, id])).rows[0] as SkillHead | undefined
    },

    /** Returns versions in the order of their numbers. */
    versions(
      owner: string,
      skillId: string,
      { after, order, limit }: Page & { readonly after: number | undefined },
    ): Promise<SkillVersion[]> {
      const text = `
        select ${columns} from ${mine} and ($3::int is null or v.number ${order === 'asc' ? '>' : '<'} $3)
        order by v.number ${order} limit $4`
      return rowsOf(text, [owner, skillId, after ?? null, limit])
    },

    async version(owner: string, skillId: string, ref: VersionRef): Promise<VersionText | undefined> {
      const [column, value] = 'number' in ref ? ['number', ref.number] : ['id', ref.id]
      const text = `select ${columns}, v.content from ${mine} and v.${column} = $3`
      return (await rowsOf<VersionText>(text, [owner, skillId, value]))[0]
    },

    /** Returns the files of a version, in the order of their paths. */
    files({ skill_id, number }: Pick<SkillVersion, 'skill_id' | 'number'>): Promise<UploadedFile[]> {
      const text = `
        select f.path, c.content from skill_files f join skill_contents c using (skill_id, hash)
        where f.skill_id = $1 and f.number = $2 order by f.path`
      return rowsOf(text, [skill_id, number])
    },

    /** Returns files of a version by their paths. */
    filesAt(
      { skill_id, number }: Pick<SkillVersion, 'skill_id' | 'number'>,
      paths: readonly string[],
    ): Promise<UploadedFile[]> {
      const text = `
        select f.path, c.content from skill_files f join skill_contents c using (skill_id, hash)
        where f.skill_id = $1 and f.number = $2 and f.path = any($3::text[])`
      return rowsOf(text, [skill_id, number, paths])
    },

    /**
     * Returns the folders of copied skills that belong to one of the owners, in the order of the copies. Of the versions of a
     * skill the one that was asked for counts, else the newest one with the copied instructions, else the default one.
     */
    folders(copies: readonly CopyRef[], owners: readonly string[]): Promise<VersionFolder[]> {
      const text = `
        select v.skill_id, v.number, v.name,
               array(select path from skill_files f where f.skill_id = v.skill_id and f.number = v.number order by path) as paths
        from unnest($1::text[], $2::text[], $3::bytea[]) with ordinality as w (id, version, hash, at)
        join skills s on s.id = w.id and s.owner_id = any($4::text[])
             and exists (select from skill_files f where f.skill_id = s.id and f.path <> 'SKILL.md')
        cross join lateral (
          select v.skill_id, v.number, v.name from skill_versions v where v.skill_id = s.id
          order by coalesce(w.version in (v.id, v.number::text), false) desc,
                   sha256(convert_to(v.content, 'UTF8')) = w.hash desc, v.number = s.default_version desc, v.number desc
          limit 1) v
        where exists (
          select from skill_files f where f.skill_id = v.skill_id and f.number = v.number and f.path <> 'SKILL.md')
        order by w.at`
      const columns = [copies.map(({ id }) => id), copies.map(({ version }) => version ?? null)]
      return rowsOf(text, [...columns, copies.map(({ hash }) => hash), owners])
    },

    /** Reports whether a version has other files than SKILL.md. */
    async hasOtherFiles(skillId: string, number: number): Promise<boolean> {
      const text = `select from skill_files where skill_id = $1 and number = $2 and path <> 'SKILL.md' limit 1`
      return (await rowsOf(text, [skillId, number])).length > 0
    },

    /** Inserts a skill with its first version. */
    async insertSkill(sql: RunSql, { id, owner, displayName, version }: NewSkill): Promise<void> {
      const { name, description, content, files } = version
      const text = 'insert into skills (id, owner_id, name, description, content) values ($1, $2, $3, $4, $5)'
      await sql(text, [id, owner, displayName, description, content])
      await sql('update skill_versions set name = skill_slug($2) where skill_id = $1', [id, name])
      await addFiles(sql, { skillId: id, number: 1, files })
    },

    /** Adds a version and returns it. */
    async insertVersion(sql: RunSql, skillId: string, version: NewVersion): Promise<SkillVersion> {
      const text = `
        with s as (
          update skills set last_version = last_version + 1, updated_at = clock_timestamp() where id = $1
          returning id, last_version)
        insert into skill_versions as v (skill_id, number, name, description, content)
        select s.id, s.last_version, skill_slug($2), $3, $4 from s returning ${columns}`
      const { name, description, content, files } = version
      const [row] = (await sql(text, [skillId, name, description, content])).rows as SkillVersion[]
      if (!row) throw new Error(`skill ${skillId} was not locked (bug)`)
      await addFiles(sql, { skillId, number: row.number, files })
      return row
    },

    /** Makes a version the default one. Returns whether it exists. */
    async setDefault(sql: RunSql, skillId: string, number: number): Promise<boolean> {
      const text = `
        update skills s set default_version = v.number, description = v.description, content = v.content,
                            updated_at = clock_timestamp()
        from skill_versions v where s.id = $1 and v.skill_id = s.id and v.number = $2
        returning s.id`
      return (await sql(text, [skillId, number])).rows.length > 0
    },

    /** Deletes a version, and the contents that no other version has. */
    async removeVersion(sql: RunSql, skillId: string, number: number): Promise<void> {
      await sql('delete from skill_versions where skill_id = $1 and number = $2', [skillId, number])
      await sql(dropUnusedText, [skillId])
    },

    /** Returns the highest number of a version other than the given one. */
    async newestBeside(sql: RunSql, skillId: string, number: number): Promise<number | undefined> {
      const text = 'select max(number) as number from skill_versions where skill_id = $1 and number <> $2'
      const [row] = (await sql(text, [skillId, number])).rows as { readonly number: number | null }[]
      return row?.number ?? undefined
    },
  }
}

interface NewSkill {
  readonly id: string
  readonly owner: string
  readonly displayName: string
  readonly version: NewVersion
}

interface NewFiles {
  readonly skillId: string
  readonly number: number
  readonly files: readonly UploadedFile[]
}

async function addFiles(sql: RunSql, { skillId, number, files }: NewFiles): Promise<void> {
  const hashes: Buffer[] = []
  for (const { content } of files) {
    const hash = createHash('sha256').update(content).digest()
    const text = 'insert into skill_contents (skill_id, hash, content) values ($1, $2, $3) on conflict do nothing'
    await sql(text, [skillId, hash, content])
    hashes.push(hash)
  }
  const text = `
    insert into skill_files (skill_id, number, path, hash)
    select $1, $2, path, hash from unnest($3::text[], $4::bytea[]) as f (path, hash)`
  await sql(text, [skillId, number, files.map(({ path }) => path), hashes])
}
