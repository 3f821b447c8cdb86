import type { Pool } from 'pg'

/** Providers delete our copies after 30 days. */
const lifetime = `interval '29 days'`

/** A copy of a file at a provider. */
export interface ProviderCopy {
  readonly credential: string
  readonly provider_id: string
}

/** Table `provider_files`: copies of files at providers. */
export type ProviderFileStore = ReturnType<typeof providerFileStore>

export function providerFileStore(pool: Pool) {
  return {
    /** Returns the provider's ids of those of the given files that it has, by file. */
    async find(credential: string, fileIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
      const text = `
        select file_id, provider_id from provider_files
        where file_id = any ($2) and credential = $1 and created_at > clock_timestamp() - ${lifetime}`
      const { rows } = await pool.query<{ file_id: string; provider_id: string }>(text, [credential, fileIds])
      return new Map(rows.map(({ file_id, provider_id }) => [file_id, provider_id]))
    },

    /** Records a copy. Does nothing when the file was deleted meanwhile. */
    async add(credential: string, fileId: string, providerId: string): Promise<void> {
      const text = `
        insert into provider_files (file_id, credential, provider_id)
        select id, $1, $3 from files where id = $2 for key share
        on conflict (file_id, credential) do update set provider_id = $3, created_at = clock_timestamp()`
      await pool.query(text, [credential, fileId, providerId])
    },

    /** Removes up to 20 copies whose files do not exist, and returns them. */
    async takeOrphans(): Promise<readonly ProviderCopy[]> {
      const text = `
        delete from provider_files where (file_id, credential) in (
          select file_id, credential from provider_files p
          where not exists (select from files f where f.id = p.file_id) limit 20 for update skip locked)
        returning credential, provider_id`
      return (await pool.query<ProviderCopy>(text)).rows
    },

    /** Removes copies that the provider no longer has. */
    async forget(credential: string, fileIds: readonly string[]): Promise<void> {
      await pool.query('delete from provider_files where file_id = any ($2) and credential = $1', [credential, fileIds])
    },
  }
}
