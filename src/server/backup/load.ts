import type { Client } from 'pg'
import { endOnStop } from '../db/connect.ts'
import { applyExactly } from '../db/migrate.ts'
import { AppError } from '../platform/errors.ts'
import { namedList } from '../platform/named-list.ts'
import { type CatalogStore, catalogStore } from './catalog-store.ts'
import type { BackupTable, Manifest } from './format.ts'
import type { Part } from './read-file.ts'
import { type FillingTable, fillTable } from './row-streams.ts'

interface Loading {
  readonly client: Client
  readonly parts: AsyncIterable<Part>
  /** True: deletes everything that the database contains. */
  readonly replaces: boolean
  /** Runs in the transaction, after the rows are there. */
  readonly settle: (manifest: Manifest) => Promise<void>
  /** Interrupts the restore before its commit. */
  readonly stop: AbortSignal | undefined
}

/**
 * Replaces the content of a database by that of a backup, in one transaction: a failure changes nothing. Rejects with
 * `conflict` for a database with other content, unless `replaces`, and for one that a service uses.
 */
export async function loadDatabase({ client, parts, replaces, settle, stop }: Loading): Promise<void> {
  const catalog = catalogStore(client)
  const detach = endOnStop(client, stop)
  try {
    await catalog.begin()
    await prepare(catalog, replaces)
    await settle(await fill({ client, catalog, parts }))
    detach()
    stop?.throwIfAborted()
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  } finally {
    detach()
  }
}

/** Leaves a schema without tables. */
async function prepare(catalog: CatalogStore, replaces: boolean): Promise<void> {
  const isOurs = (await catalog.migrations()) !== undefined
  const names = await catalog.names()
  if (!isOurs && names.length > 0) {
    throw new AppError(
      'conflict',
      `database has tables of another program (${namedList(names, 5)}); create an empty database for Switchyard`,
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
      `database is not empty (it has rows in ${namedList(filled, 5)}); restore into an empty one, or pass --replace to delete its content`,
    )
  }
  await catalog.clear()
}

type Filling = Pick<Loading, 'client' | 'parts'> & { readonly catalog: CatalogStore }

/** Creates the tables of the backup with their rows; returns its manifest. */
async function fill({ client, catalog, parts }: Filling): Promise<Manifest> {
  let manifest: Manifest | undefined
  let filling: FillingTable | undefined
  let hasStrangeIds = false
  let endReset = (): Promise<void> => Promise.resolve()
  try {
    for await (const part of parts) {
      switch (part.type) {
        case 'manifest':
          manifest = part.manifest
          await applyExactly(client, manifest.migrations)
          await checkTables(catalog, manifest)
          hasStrangeIds = BigInt(manifest.next_transaction) > BigInt((await catalog.server()).next_transaction)
          break
        case 'table':
          if (hasStrangeIds) endReset = await catalog.resetTransactions(part.name)
          filling = fillTable(client, tableOf(manifest, part.name))
          break
        case 'rows':
          await filling?.write(part.rows)
          break
        case 'tableEnd':
          await checkCount(part.end, filling)
          filling = undefined
          await endReset()
          endReset = () => Promise.resolve()
          await catalog.setSequences(tableOf(manifest, part.end.name))
          break
        case 'keys':
        case 'end':
          break
      }
    }
  } finally {
    await filling?.abort()
  }
  if (!manifest) throw new AppError('invalid_request', 'backup is damaged: it has no manifest')
  return manifest
}

/** Compares the tables of the backup with the schema that its migrations create. */
async function checkTables(catalog: CatalogStore, { tables, omitted }: Manifest): Promise<void> {
  const wanted = new Set(tables.map(({ name }) => name))
  const lacking = (await catalog.names()).filter(name => !wanted.has(name) && !omitted.includes(name))
  if (lacking.length === 0) return
  throw new AppError('invalid_request', `backup is damaged: it has no table ${lacking.join(', ')}; use another backup`)
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
