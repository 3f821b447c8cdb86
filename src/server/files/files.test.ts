import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { noRetention } from '../../../test/support/service/no-retention.ts'
import { createAudit } from '../audit/audit.ts'
import { auditStore } from '../audit/store.ts'
import { serviceActor } from '../http/caller.ts'
import { createRetention } from '../retention/retention.ts'
import { retentionStore } from '../retention/store.ts'
import { blobStore } from '../workspaces/blob-store.ts'
import { createBlobs } from '../workspaces/blobs.ts'
import { storeContent } from '../workspaces/contents.ts'
import { fileStore } from './file-store.ts'
import { createFiles } from './files.ts'

const { pool, db } = await freshDatabase()
const maxOwnerBytes = 3_000_000
const files = createFiles({
  store: fileStore(pool),
  blobs: createBlobs(blobStore(pool)),
  storeContent,
  audit: createAudit(auditStore(db)),
  maxOwnerBytes: () => maxOwnerBytes,
})
const retention = createRetention({
  settings: noRetention,
  store: retentionStore(pool),
  sessions: { remove: async () => undefined },
  removeFiles: async () => undefined,
  log: { info: () => undefined, warn: (fields: unknown) => assert.fail(String((fields as { err?: unknown }).err)) },
})

async function* inChunks(bytes: Buffer, size = 60_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const fields = { purpose: 'user_data', filename: 'data.csv', mediaType: undefined, expiresInS: undefined }
const by = (owner: string) => ({ owner, actor: serviceActor })
const stored = (owner: string, bytes: Buffer, more: object = {}) =>
  files.create(inChunks(bytes), { ...fields, ...more }, by(owner))

async function pieces(): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('select count(*) as count from workspace_blobs')
  return rows[0]?.count ?? 0
}

test('a file is read as it was stored, by its owner only, and its content survives the cleanup', async () => {
  const bytes = randomBytes(2_500_000)
  const file = await stored('ana', bytes)
  assert.deepEqual([file.bytes, file.media_type, file.pieces.length], [bytes.length, 'text/csv', 3])
  await pool.query(`update workspace_blobs set loose_since = '-infinity' where loose_since is not null`)
  await retention.sweep()
  assert.ok(Buffer.concat(await Array.fromAsync(files.contentOf(await files.get('ana', file.id)))).equals(bytes))
  await assert.rejects(files.get('bo', file.id), { code: 'not_found' })
  await assert.rejects(files.remove(file.id, by('bo')), { code: 'not_found' })
  assert.deepEqual(await files.among('bo', [file.id]), [])
  await files.remove(file.id, by('ana'))
  await assert.rejects(files.get('ana', file.id), { code: 'not_found' })
  await retention.sweep()
  assert.equal(await pieces(), 0)
  const { rows } = await pool.query<{ action: string }>(
    'select action from audit_log where object_id = $1 order by id',
    [file.id],
  )
  assert.deepEqual(
    rows.map(({ action }) => action),
    ['file.create', 'file.delete'],
  )
})

test('files of an owner are limited together, also when they are stored concurrently', async () => {
  const bytes = randomBytes(1_400_000)
  const results = await Promise.allSettled([1, 2, 3, 4].map(() => stored('limited', bytes)))
  const done = results.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
  assert.equal(done.length, 2)
  for (const result of results) {
    if (result.status !== 'rejected') continue
    assert.equal(result.reason.code, 'payload_too_large')
    assert.match(
      result.reason.message,
      /^files of limited would exceed limits\.files_bytes \(3000000 bytes, \d+ of them/,
    )
  }
  await assert.rejects(stored('limited', randomBytes(300_000)), { code: 'payload_too_large' })
  await stored('limited', Buffer.alloc(100))
  await retention.sweep()
  assert.equal(await pieces(), 5, 'the pieces of two large files and of a small one')
  for (const { id } of await files.list('limited', { order: 'asc', limit: 10 })) await files.remove(id, by('limited'))
})

test('a failed upload leaves nothing', async () => {
  async function* broken() {
    yield* inChunks(randomBytes(1_500_000))
    throw new Error('connection lost')
  }
  await assert.rejects(files.create(broken(), fields, by('ana')), /connection lost/)
  await assert.rejects(stored('ana', Buffer.alloc(0)), /file is empty/)
  await assert.rejects(
    stored('ana', Buffer.from('no'), { mediaType: 'image/png' }),
    /image\/png, but the content is not/,
  )
  await files.discard(await files.receive('ana', inChunks(randomBytes(1_500_000))))
  await retention.sweep()
  assert.deepEqual([await pieces(), await files.list('ana', { order: 'desc', limit: 10 })], [0, []])
})

test('a file with a lifetime is not found after it, and its content is deleted', async () => {
  const { id, created_at, expires_at } = await stored('ana', Buffer.from('a,b\n'), { expiresInS: 3_600 })
  assert.equal((expires_at?.getTime() ?? 0) - created_at.getTime(), 3_600_000)
  await files.get('ana', id)
  await pool.query(`update files set expires_at = clock_timestamp() - interval '1 second' where id = $1`, [id])
  await assert.rejects(files.get('ana', id), { code: 'not_found' })
  assert.deepEqual(await files.list('ana', { order: 'desc', limit: 10 }), [])
  await retention.sweep()
  assert.equal(await pieces(), 0)
})

test('lists page in both directions', async () => {
  const ids: string[] = []
  for (const name of ['1', '2', '3', '4'])
    ids.push((await stored('pages', Buffer.from(name), { purpose: name === '3' ? 'batch' : 'user_data' })).id)
  const list = async (page: object) =>
    (await files.list('pages', { order: 'desc', limit: 2, ...page })).map(({ id }) => ids.indexOf(id) + 1)
  assert.deepEqual(await list({}), [4, 3])
  assert.deepEqual(await list({ after: ids[2] }), [2, 1])
  assert.deepEqual(await list({ before: ids[0] }), [3, 2])
  assert.deepEqual(await list({ order: 'asc', after: ids[0] }), [2, 3])
  assert.deepEqual(await list({ purpose: 'batch' }), [3])
})
