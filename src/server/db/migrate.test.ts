import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Pool } from 'pg'
import { temporaryFolder } from '../../../test/support/data-folder.ts'
import { emptyDatabase } from '../../../test/support/database.ts'
import { migrate, pendingMigrations } from './migrate.ts'

const shipped = join(import.meta.dirname, 'migrations')
const names = readdirSync(shipped).sort()

/** A copy of the shipped migrations that a test may change. */
function copy(): string {
  const folder = temporaryFolder()
  cpSync(shipped, folder, { recursive: true })
  return folder
}

test('an empty database gets every migration once, in order', async () => {
  const { pool } = await emptyDatabase()
  assert.deepEqual(await pendingMigrations(pool), names)
  assert.deepEqual(await migrate(pool), names)
  assert.deepEqual(await pendingMigrations(pool), [])
  assert.deepEqual(await migrate(pool), [])
})

test('servers that start together apply each migration once', async () => {
  const { pool } = await emptyDatabase()
  const applied = await Promise.all(Array.from({ length: 4 }, () => migrate(pool)))
  assert.deepEqual(applied.flat().sort(), names)
})

test('a migration that fails is undone as a whole, named, and applied when it is mended', async () => {
  const { pool } = await emptyDatabase()
  const folder = copy()
  writeFileSync(join(folder, '9999-broken.sql'), 'create table half (id int); select 1 / 0;')
  await assert.rejects(migrate(pool, { folder }), /9999-broken.sql failed and was undone: division by zero/)
  const { rows } = await pool.query("select to_regclass('half') as half, to_regclass('agents') is not null as agents")
  assert.deepEqual(rows, [{ half: null, agents: true }])
  writeFileSync(join(folder, '9999-broken.sql'), 'create table half (id int);')
  assert.deepEqual(await migrate(pool, { folder }), ['9999-broken.sql'])
})

test('a database of a newer version is refused with the way back', async () => {
  const { pool } = await emptyDatabase()
  const folder = copy()
  writeFileSync(join(folder, '9999-contract-newer.sql'), 'select 1;')
  await migrate(pool, { folder })
  rmSync(join(folder, '9999-contract-newer.sql'))
  await assert.rejects(migrate(pool, { folder }), /newer version.*9999-contract-newer.sql.*Start that version again/)
  await assert.rejects(pendingMigrations(pool, { folder }), /newer version/)
})

test('an applied migration that was changed is refused; other line ends are no change', async () => {
  const { pool } = await emptyDatabase()
  const folder = copy()
  await migrate(pool, { folder })
  const file = join(folder, names[0] ?? '')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replaceAll('\n', '\r\n'))
  assert.deepEqual(await migrate(pool, { folder }), [])
  writeFileSync(file, `${text}\n-- changed`)
  await assert.rejects(migrate(pool, { folder }), /was applied to this database with other contents/)
})

test('a PostgreSQL that is too old is refused before anything is changed', async () => {
  const statements: string[] = []
  const old = {
    async query(text: string) {
      statements.push(text)
      return { rows: [{ version: 140_012, exists: false }] }
    },
  }
  await assert.rejects(migrate(old as unknown as Pool), /is PostgreSQL 14, but at least 15 is needed/)
  assert.ok(statements.every(text => text.startsWith('select')))
})
