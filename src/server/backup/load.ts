import type { ClientBase } from 'pg'
import { applyExactly } from '../db/migrate.ts'
import { AppError } from '../platform/errors.ts'
import { type CatalogStore, catalogStore } from './catalog-store.ts'
import type { BackupTable, Manifest } from './format.ts'
import type { Part } from './read-file.ts'
import { type FillingTable, fillTable } from './row-streams.ts'

interface Loading {
  readonly client: ClientBase
  readonly parts: AsyncIterable<Part>
  /** True: deletes everything that the database contains. */
  readonly replaces: boolean
  /** Runs in the transaction, after the rows are there. */
  readonly settle: (manifest: Manifest) => Promise<void>
}

/**
 * Replaces the content of a database by that of a backup, in one transaction: a failure changes nothing. Rejects with
 * `conflict` for a database with other content, unless `replaces`, and for one that a service uses.
 */
export async function loadDatabase({ client, parts, replaces, settle }: Loading): Promise<void> {
  const catalog = catalogStore(client)
  await catalog.begin()
  try {
    await prepare(catalog, replaces)
    await fill({ client, catalog, parts, settle })
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** Leaves a schema without tables. */
async function prepare(catalog: CatalogStore, replaces: boolean): Promise<void> {
  const isOurs = (await catalog.migrations()) !== undefined
  const names = await catalog.names()
  if (!isOurs && names.length > 0) {
    throw new AppError(
      'conflict',
      `database has tables of another program (${some(names)}); create an empty database for Switchyard`,
    )
  }
  if (!isOurs) return
  if (names.includes('replicas') && (await catalog.countReplicas()) > 0) {
    throw new AppError('conflict', 'a service uses this database; stop it first')
  }
  const filled = await catalog.filled()
  if (filled.length > 0 && !replaces) {
    throw new AppError(
      'conflict',
      `database is not empty (it has rows in ${some(filled)}); restore into an empty one, or pass --replace to delete its content`,
    )
  }
  await catalog.clear()
}

const some = (names: readonly string[]): string =>
  names.length <= 5 ? names.join(', ') : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`

type Filling = Pick<Loading, 'client' | 'parts' | 'settle'> & { readonly catalog: CatalogStore }

async function fill({ client, catalog, parts, settle }: Filling): Promise<void> {
  let manifest: Manifest | undefined
  let filling: FillingTable | undefined
  for await (const part of parts) {
    switch (part.type) {
      case 'manifest':
        manifest = part.manifest
        await applyExactly(client, manifest.migrations)
        // Rows that migrations insert are in the backup too.
        break
      case 'table':
        filling = fillTable(client, tableOf(manifest, part.name))
        break
      case 'rows':
        await filling?.write(part.rows)
        break
      case 'tableEnd':
        await checkCount(part.end, filling)
        await catalog.setSequences(tableOf(manifest, part.end.name))
        break
      case 'keys':
      case 'end':
        break
    }
  }
  if (manifest) await settle(manifest)
}

function tableOf(manifest: Manifest | undefined, name: string): BackupTable {
  const table = manifest?.tables.find(found => found.name === name)
  if (!table) throw new AppError('invalid_request', `backup is damaged: its manifest does not list table ${name}`)
  return table
}

async function checkCount(end: { name: string; rows: number }, filling: FillingTable | undefined): Promise<void> {
  const rows = await filling?.end()
  if (rows === end.rows) return
  throw new AppError('invalid_request', `table ${end.name} has ${rows} rows instead of ${end.rows} after the restore`)
}
