import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/service/data-folder.ts'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { noRetention } from '../../../test/support/service/no-retention.ts'
import { startFakeBucket } from '../../../test/support/service/s3-fake.ts'
import { storedSession } from '../../../test/support/sessions/session-rows.ts'
import { transaction } from '../db/connect.ts'
import { fileStore } from '../files/file-store.ts'
import { createFiles } from '../files/files.ts'
import { serviceActor } from '../http/caller.ts'
import { createOutbound } from '../platform/outbound.ts'
import { createRetention } from '../retention/retention.ts'
import { retentionStore } from '../retention/store.ts'
import { blobStore } from './blob-store.ts'
import { createBlobs } from './blobs.ts'
import { checkpointStore } from './checkpoint-store.ts'
import { storeContent } from './contents.ts'
import { bucketObjects } from './objects.ts'
import { createWorkspaces } from './workspaces.ts'

const { pool } = await freshDatabase()
const credentials = { accessKeyId: 'AKIA', secretAccessKey: 'secret' }
const fake = await startFakeBucket('files', credentials)
const settings = {
  ...credentials,
  endpoint: fake.endpoint,
  bucket: 'files',
  region: 'eu-1',
  prefix: 'a/b/',
  sessionToken: undefined,
}
const outbound = createOutbound({ allow: [new URL(fake.endpoint).host] })
const objects = bucketObjects(outbound, settings)
after(async () => {
  await objects.close()
  await fake.stop()
})

function machine(isWritten: boolean) {
  const root = temporaryFolder()
  const rows = blobStore(pool)
  const folderOf = (id: string) => join(root, id)
  return {
    folderOf,
    workspaces: createWorkspaces({
      checkpoints: checkpointStore(pool),
      blobRows: rows,
      blobs: createBlobs(rows, { objects, isWritten }),
      limits: { fileBytes: 2 ** 24, bytes: 2 ** 24, files: 100 },
      folderOf,
      makeFolder: async id => void (await mkdir(folderOf(id), { recursive: true })),
    }),
  }
}

async function stored(
  name: string,
  content: string | Buffer,
): Promise<{ id: string; owner_id: string; checkpoint_id: string }> {
  const { folderOf, workspaces } = machine(true)
  const id = await storedSession(pool)
  await mkdir(folderOf(id))
  await writeFile(join(folderOf(id), name), content)
  const ready = await workspaces.capture({ id, owner_id: 'ada', checkpoint_id: null })
  assert.ok(ready)
  await transaction(pool, client => ready.commit(client, 1))
  return { id, owner_id: 'ada', checkpoint_id: ready.id }
}

const retention = createRetention({
  settings: { ...noRetention, deletedSessionsMs: 3_600_000 },
  store: retentionStore(pool),
  sessions: { remove: async () => undefined },
  removeFiles: async () => undefined,
  removeObject: objects.remove,
  log: { info: () => undefined, warn: (fields: unknown) => assert.fail(String((fields as { err?: unknown }).err)) },
})

test('objects are written, read and deleted with a signature that the store accepts', async () => {
  await objects.put('a/b/key-1_x', Buffer.from([0, 1, 2]))
  assert.deepEqual(await objects.get('a/b/key-1_x'), Buffer.from([0, 1, 2]))
  await objects.remove('a/b/key-1_x')
  await objects.remove('a/b/key-1_x')
  await assert.rejects(objects.get('a/b/key-1_x'), /missing/)
  const wrong = bucketObjects(outbound, { ...settings, secretAccessKey: 'another' })
  await assert.rejects(wrong.put('a/b/x', Buffer.from('x')), /status 403 to PUT: <Code>SignatureDoesNotMatch/)
  await wrong.close()
  await assert.rejects(bucketObjects(createOutbound({ allow: [] }), settings).get('x'), /outbound\.allow/)
})

test('content is in the bucket, its keys are in the database, and another machine restores it', async () => {
  const content = Buffer.alloc(2 * 1024 * 1024 + 3, 'words ')
  const session = await stored('large.txt', content)
  const { rows } = await pool.query<{ object_key: string; data: Buffer | null }>(
    'select object_key, data from workspace_blobs',
  )
  assert.ok(rows.every(({ object_key, data }) => data === null && fake.objects.has(object_key)))
  assert.deepEqual(
    [...fake.objects.keys()].every(key => key.startsWith('a/b/')),
    true,
  )
  assert.equal((await pool.query('select from workspace_objects')).rowCount, 0)
  // After the configuration changed back to the database, existing objects are still read from the bucket.
  const other = machine(false)
  await other.workspaces.restore(session)
  assert.deepEqual(await readFile(join(other.folderOf(session.id), 'large.txt')), content)
})

test('an error of the store fails the checkpoint, and objects that were already written are deleted later', async () => {
  fake.failures = 1
  const before = fake.objects.size
  await assert.rejects(stored('refused.txt', 'refused'), /status 503/)
  await stored('refused.txt', 'refused')
  assert.equal(fake.objects.size, before + 1)
  assert.equal((await pool.query('select from workspace_objects')).rowCount, 1)
})

test('objects of deleted sessions are deleted, those that other sessions need stay', async () => {
  const [going, staying] = [await stored('going.txt', 'only here'), await stored('staying.txt', 'stays')]
  await pool.query(`update sessions set deleted_at = clock_timestamp() - interval '2 days' where id = $1`, [going.id])
  const keyOf = async (id: string) =>
    (
      await pool.query<{ key: string }>(
        'select object_key as key from workspace_blobs join workspace_refs using (owner_id, hash) where session_id = $1',
        [id],
      )
    ).rows[0]?.key ?? ''
  const [gone, kept] = [await keyOf(going.id), await keyOf(staying.id)]
  await retention.sweep()
  await pool.query(`update workspace_blobs set loose_since = loose_since - interval '2 days'`)
  await pool.query(`update workspace_objects set delete_after = delete_after - interval '2 days'`)
  await retention.sweep()
  assert.deepEqual([fake.objects.has(gone), fake.objects.has(kept)], [false, true])
  assert.equal((await pool.query('select from workspace_objects')).rowCount, 0)
})

test('uploaded files are in the bucket until they are deleted, and a failed upload leaves no object', async () => {
  const files = createFiles({
    store: fileStore(pool),
    blobs: createBlobs(blobStore(pool), { objects, isWritten: true }),
    storeContent,
    audit: { record: async () => undefined },
    maxOwnerBytes: () => 2 ** 30,
  })
  const before = new Set(fake.objects.keys())
  const added = () => [...fake.objects.keys()].filter(key => !before.has(key))
  const content = Buffer.alloc(6 * 1024 * 1024 + 3, 'uploaded ')
  // A batch of pieces is written before the cut.
  const cutAt = 5 * 1024 * 1024
  const by = { owner: 'ada', actor: serviceActor }
  const fields = { purpose: 'user_data', filename: 'a.txt', mediaType: undefined, expiresInS: undefined }
  async function* chunks(isCut: boolean) {
    yield content.subarray(0, cutAt)
    if (isCut) throw new Error('the connection is gone')
    yield content.subarray(cutAt)
  }
  await assert.rejects(files.create(chunks(true), fields, by), /connection is gone/)
  assert.ok(added().length > 0)
  const file = await files.create(chunks(false), fields, by)
  assert.ok(Buffer.concat(await Array.fromAsync(files.contentOf(file))).equals(content))
  await files.remove(file.id, by)
  await retention.sweep()
  await pool.query(`update workspace_objects set delete_after = delete_after - interval '2 days'`)
  await retention.sweep()
  assert.deepEqual([added(), (await pool.query('select from workspace_objects')).rowCount], [[], 0])
})
