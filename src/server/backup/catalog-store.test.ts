import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { connectAlone } from '../db/connect.ts'
import { catalogStore, omittedTables } from './catalog-store.ts'

const { url, pool } = await freshDatabase()
const client = await connectAlone(url, 'test')
after(() => client.end())

// Parts of tables: their indexes, sequences, types and toast tables.
const othersText = `
  select c.relkind::text || ' ' || c.relname as name from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind not in ('r', 'i', 'c')
    and not exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i'))
  union all
  select 'type ' || t.typname from pg_type t
  where t.typnamespace = current_schema()::regnamespace and t.typrelid = 0 and t.typelem = 0`

const columnsText = `
  select count(*)::int as count from information_schema.columns
  where table_schema = current_schema() and table_name = $1 and is_generated = 'NEVER'`

test('every table of the schema is in a backup with all its columns, or omitted for a reason', async () => {
  const catalog = catalogStore(client)
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name from pg_class
     where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace and relname <> 'schema_migrations'`,
  )
  const tables = await catalog.tables()
  const decided = [...tables.map(({ name }) => name), ...omittedTables]
  assert.deepEqual(decided.toSorted(), rows.map(({ name }) => name).toSorted())
  for (const { name, columns } of tables) {
    const found = await pool.query<{ count: number }>(columnsText, [name])
    assert.equal(columns.length, found.rows[0]?.count, name)
  }
})

test('the schema has no objects besides tables and functions, which a backup would not have', async () => {
  assert.deepEqual((await pool.query(othersText)).rows, [])
})

test('tables come after those that they reference', async () => {
  const names = (await catalogStore(client).tables()).map(({ name }) => name)
  const { rows } = await pool.query<{ name: string; other: string }>(
    `select conrelid::regclass::text as name, confrelid::regclass::text as other from pg_constraint
     where contype = 'f' and conrelid <> confrelid and connamespace = current_schema()::regnamespace`,
  )
  assert.ok(rows.length > 10)
  const stored = rows.filter(({ name }) => !omittedTables.includes(name))
  for (const { name, other } of stored) assert.ok(names.indexOf(other) < names.indexOf(name), `${name} after ${other}`)
})
