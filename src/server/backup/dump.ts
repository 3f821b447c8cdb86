import type { ClientBase } from 'pg'
import { AppError } from '../platform/errors.ts'
import { catalogStore, omittedTables } from './catalog-store.ts'
import type { Manifest, TableEnd } from './format.ts'
import { rowsOf } from './row-streams.ts'
import type { BackupWriter } from './write-file.ts'

interface Dumping {
  readonly client: ClientBase
  readonly writer: BackupWriter
  readonly about: Pick<Manifest, 'version' | 'database'>
  /** Encryption keys to store in the file, in base64; empty for none. */
  readonly keys: readonly string[]
}

/** What a backup contains. */
export interface Dumped {
  readonly manifest: Manifest
  readonly tables: readonly TableEnd[]
}

/** Writes one consistent state of the database; the service may run meanwhile. */
export async function dumpDatabase({ client, writer, about, keys }: Dumping): Promise<Dumped> {
  const catalog = catalogStore(client)
  await catalog.beginSnapshot()
  const migrations = await catalog.migrations()
  if (!migrations) throw new AppError('invalid_request', 'database is empty: no service has used it yet')
  const { version: postgres, now, next_transaction } = await catalog.server()
  const tables = await catalog.tables()
  const hasObjects = tables.some(({ name, columns }) => name === 'workspace_blobs' && columns.includes('object_key'))
  const manifest: Manifest = {
    ...about,
    created_at: now.toISOString(),
    postgres,
    next_transaction,
    migrations,
    encryption_key_ids: await catalog.encryptionKeyIds(),
    has_keys: keys.length > 0,
    tables,
    omitted: omittedTables,
    objects: hasObjects ? await catalog.countObjects() : 0,
  }
  await writer.json('manifest', manifest)
  if (keys.length > 0) await writer.json('keys', { keys })
  const ends: TableEnd[] = []
  for (const table of tables) ends.push(await writer.table(table.name, rowsOf(client, table)))
  await client.query('commit')
  return { manifest, tables: ends }
}
