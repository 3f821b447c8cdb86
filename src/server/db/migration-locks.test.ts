import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyDatabase } from '../../../test/support/service/database.ts'
import { transaction } from './connect.ts'
import { locksOfMigration } from './migration-locks.ts'

const folder = join(import.meta.dirname, 'migrations')

// AccessShareLock and RowShareLock of reads block nothing that a service does.
const heldText = `
  select c.relname as "table", array_agg(distinct l.mode) as modes
  from pg_locks l join pg_class c on c.oid = l.relation
  where l.pid = pg_backend_pid() and l.granted and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
    and l.mode not in ('AccessShareLock', 'RowShareLock') and c.relname = any ($1)
  group by 1 order by 1`

test('the planned locks of every migration are those that PostgreSQL takes', async () => {
  const { pool } = await emptyDatabase()
  for (const name of readdirSync(folder).sort()) {
    const sql = readFileSync(join(folder, name), 'utf8')
    await transaction(pool, async client => {
      const before = await client.query<{ name: string }>(
        `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
      )
      const names = before.rows.map(row => row.name)
      await client.query(sql)
      const held = await client.query<{ table: string; modes: string[] }>(heldText, [names])
      const planned = locksOfMigration(sql).toSorted((one, other) => (one.table < other.table ? -1 : 1))
      assert.deepEqual(
        planned.map(({ table }) => table),
        held.rows.map(({ table }) => table),
        name,
      )
      for (const { table, mode } of planned) {
        const modes = held.rows.find(row => row.table === table)?.modes ?? []
        assert.ok(modes.includes(mode), `${name}: ${table} has ${modes}, planned ${mode}`)
        if (!modes.includes('AccessExclusiveLock')) assert.notEqual(mode, 'AccessExclusiveLock', name)
      }
    })
  }
})

test('bodies of functions, comments and new tables count as no lock', () => {
  const sql = `
    -- alter table commented add x int;
    create table fresh (id text primary key, of_session text references sessions);
    create index fresh_by_session on fresh (of_session);
    create function f() returns void language sql as $body$ update sessions set title = ''; $body$;
    alter table sessions add column x int;
    create unique index on "prompts" (id);`
  assert.deepEqual(locksOfMigration(sql), [
    { table: 'sessions', mode: 'AccessExclusiveLock', blocks: 'reads and writes' },
    { table: 'prompts', mode: 'ShareLock', blocks: 'writes' },
  ])
})
