import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Client } from 'pg'
import { temporaryFolder } from '../../../test/support/service/data-folder.ts'
import { emptyDatabase, freshDatabase } from '../../../test/support/service/database.ts'
import { storedSession } from '../../../test/support/sessions/session-rows.ts'
import { connectAlone } from '../db/connect.ts'
import { dumpDatabase } from './dump.ts'
import { loadDatabase } from './load.ts'
import { type Part, readBackup } from './read-file.ts'
import { createBackupFile } from './write-file.ts'

const source = await freshDatabase()
const path = join(temporaryFolder(), 'source.backup')
const hostile = ['tab\t', 'line\nend', 'back\\slash\\N', '\\.', '"quoted"', '\u2028 é 漢 \u{1f600}', '\r', '\u0001']
const id = await storedSession(source.pool)

before(async () => {
  const text = `
    insert into session_events (session_id, seq, id, type, payload, fence)
    select $1, n, 'evt_' || n, 'agent.message', json_build_object('text', ($2::text[])[n]), 1
    from generate_series(1, $3) n`
  await source.pool.query(text, [id, hostile, hostile.length])
  await source.pool.query('update sessions set next_seq = $2, title = $3 where id = $1', [
    id,
    hostile.length + 1,
    hostile.join('|'),
  ])
  const writer = await createBackupFile(path, undefined)
  const client = await connectAlone(source.url, 'test')
  await dumpDatabase({ client, writer, about: { version: '0', database: 'external' }, keys: [] })
  await writer.finish()
  await writer.close()
  await client.end()
})

async function target(): Promise<{ client: Client; load: (parts: AsyncIterable<Part>) => Promise<void> }> {
  const { url } = await emptyDatabase()
  const client = await connectAlone(url, 'test')
  after(() => client.end())
  const others = { client, replaces: false, settle: async () => {}, stop: undefined }
  return { client, load: parts => loadDatabase({ ...others, parts }) }
}

async function* changed(change: (part: Part) => Part): AsyncGenerator<Part> {
  for await (const part of readBackup({ path, passphrase: undefined })) yield change(part)
}

const eventsText = 'select session_id, seq, id, payload::text, created_at, xid::text from session_events order by seq'
const titlesText = 'select id, title from sessions'

test('texts with every special character arrive unchanged', async () => {
  const { client, load } = await target()
  await load(readBackup({ path, passphrase: undefined }))
  for (const text of [eventsText, titlesText])
    assert.deepEqual((await client.query(text)).rows, (await source.pool.query(text)).rows)
})

test('transaction ids that the server has not reached are reset, so that feeds return the events', async () => {
  const { client, load } = await target()
  const next_transaction = String(2n ** 62n)
  await load(
    changed(part => (part.type === 'manifest' ? { ...part, manifest: { ...part.manifest, next_transaction } } : part)),
  )
  assert.deepEqual((await client.query('select distinct xid::text from session_events')).rows, [{ xid: '0' }])
  const { rows } = await client.query(`
    insert into session_events (session_id, seq, id, type, payload, fence)
    select session_id, 1000, 'evt_later', type, payload, fence from session_events limit 1 returning xid::text::int8 > 0 as is_set`)
  assert.deepEqual(rows, [{ is_set: true }])
})

test('a backup that fails in the middle of a table changes nothing, and does not block the connection', async () => {
  const { client, load } = await target()
  const failing = changed(part => {
    if (part.type === 'rows') throw new Error('disk error')
    return part
  })
  await assert.rejects(load(failing), /disk error/)
  assert.deepEqual((await client.query(`select to_regclass('sessions') as found`)).rows, [{ found: null }])
  await load(readBackup({ path, passphrase: undefined }))
  assert.equal((await client.query(titlesText)).rows.length, 1)
})

test('rows that the schema rejects change nothing', async () => {
  const { client, load } = await target()
  const rows = Buffer.from('neither a row nor its end\n')
  await assert.rejects(load(changed(part => (part.type === 'rows' ? { ...part, rows } : part))), /missing data|COPY/i)
  assert.deepEqual((await client.query(`select to_regclass('sessions') as found`)).rows, [{ found: null }])
})

test('a backup without one of the tables of its schema is rejected', async () => {
  const { load } = await target()
  const parts = changed(part => {
    if (part.type !== 'manifest') return part
    const { manifest } = part
    return { ...part, manifest: { ...manifest, tables: manifest.tables.filter(({ name }) => name !== 'memories') } }
  })
  await assert.rejects(load(parts), /backup is damaged: it has no table memories/)
})

test('a database with a view of another program is not touched', async () => {
  const { client, load } = await target()
  await client.query('create view other as select 1 as one')
  await assert.rejects(load(readBackup({ path, passphrase: undefined })), /tables of another program \(other\)/)
})
