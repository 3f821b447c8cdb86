import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Pool } from 'pg'
import { temporaryFolder } from '../../../test/support/service/data-folder.ts'
import { emptyDatabase } from '../../../test/support/service/database.ts'
import { migrate, pendingMigrations } from './migrate.ts'

const shipped = join(import.meta.dirname, 'migrations')
const names = readdirSync(shipped).sort()

/** Copies the shipped migrations, so that a test can modify them. */
function copy(): string {
  const folder = temporaryFolder()
  cpSync(shipped, folder, { recursive: true })
  return folder
}

test('every migration is applied once to an empty database, in order', async () => {
  const { pool } = await emptyDatabase()
  assert.deepEqual(await pendingMigrations(pool), names)
  assert.deepEqual(await migrate(pool), names)
  assert.deepEqual(await pendingMigrations(pool), [])
  assert.deepEqual(await migrate(pool), [])
})

test('concurrent servers apply each migration once', async () => {
  const { pool } = await emptyDatabase()
  const applied = await Promise.all(Array.from({ length: 4 }, () => migrate(pool)))
  assert.deepEqual(applied.flat().sort(), names)
})

test('a failed migration is rolled back and reported by name, and applied once it is fixed', async () => {
  const { pool } = await emptyDatabase()
  const folder = copy()
  writeFileSync(join(folder, '9999-broken.sql'), 'create table half (id int); select 1 / 0;')
  await assert.rejects(migrate(pool, { folder }), /9999-broken.sql failed and was rolled back: division by zero/)
  const { rows } = await pool.query("select to_regclass('half') as half, to_regclass('agents') is not null as agents")
  assert.deepEqual(rows, [{ half: null, agents: true }])
  writeFileSync(join(folder, '9999-broken.sql'), 'create table half (id int);')
  assert.deepEqual(await migrate(pool, { folder }), ['9999-broken.sql'])
})

test('a database of a newer version is rejected with the next step', async () => {
  const { pool } = await emptyDatabase()
  const folder = copy()
  writeFileSync(join(folder, '9999-contract-newer.sql'), 'select 1;')
  await migrate(pool, { folder })
  rmSync(join(folder, '9999-contract-newer.sql'))
  await assert.rejects(migrate(pool, { folder }), /newer version.*9999-contract-newer.sql.*start that version/)
  await assert.rejects(pendingMigrations(pool, { folder }), /newer version/)
})

test('a modified applied migration is rejected; other line endings do not count', async () => {
  const { pool } = await emptyDatabase()
  const folder = copy()
  await migrate(pool, { folder })
  const file = join(folder, names[0] ?? '')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replaceAll('\n', '\r\n'))
  assert.deepEqual(await migrate(pool, { folder }), [])
  writeFileSync(file, `${text}\n-- changed`)
  await assert.rejects(migrate(pool, { folder }), /was applied to this database with different content/)
})

test('an unsupported PostgreSQL version is rejected before any change', async () => {
  const statements: string[] = []
  const old = {
    async query(text: string) {
      statements.push(text)
      return { rows: [{ version: 140_012, exists: false }] }
    },
  }
  await assert.rejects(migrate(old as unknown as Pool), /runs PostgreSQL 14, but 15 or newer is required/)
  assert.ok(statements.every(text => text.startsWith('select')))
})
