import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, readFile, readlink, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/support/service/data-folder.ts'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { storedSession } from '../../../test/support/sessions/session-rows.ts'
import { transaction } from '../db/connect.ts'
import { blobStore } from './blob-store.ts'
import { createBlobs } from './blobs.ts'
import { checkpointStore } from './checkpoint-store.ts'
import type { WorkspaceLimits } from './limits.ts'
import { createWorkspaces } from './workspaces.ts'

const { pool } = await freshDatabase()
const MiB = 1024 * 1024

/** A machine with its own folder. */
function machine(limits: Partial<WorkspaceLimits> = {}) {
  const root = temporaryFolder()
  const rows = blobStore(pool)
  const folderOf = (id: string) => join(root, id)
  const workspaces = createWorkspaces({
    checkpoints: checkpointStore(pool),
    blobRows: rows,
    blobs: createBlobs(rows),
    limits: { fileBytes: 8 * MiB, bytes: 16 * MiB, files: 1_000, ...limits },
    folderOf,
    makeFolder: async id => void (await mkdir(folderOf(id), { recursive: true })),
  })
  const rowOf = async (id: string) => {
    const text = 'select id, owner_id, checkpoint_id from sessions where id = $1'
    const { rows } = await pool.query<{ id: string; owner_id: string; checkpoint_id: string | null }>(text, [id])
    assert.ok(rows[0])
    return rows[0]
  }
  return {
    root,
    folderOf,
    restore: async (id: string) => workspaces.restore(await rowOf(id)),
    /** Makes a checkpoint as of event `seq` if files have changed. */
    async checkpoint(id: string, seq: number) {
      const ready = await workspaces.capture(await rowOf(id))
      if (!ready) return undefined
      await transaction(pool, client => ready.commit(client, seq))
      await ready.done()
      return ready
    },
  }
}

async function sessionOn({ folderOf }: ReturnType<typeof machine>): Promise<{ id: string; folder: string }> {
  const id = await storedSession(pool)
  const folder = folderOf(id)
  await mkdir(folder, { recursive: true })
  return { id, folder }
}

const countOf = async (text: string, values: unknown[] = []): Promise<number> =>
  (await pool.query<{ n: number }>(`select count(*)::int as n from ${text}`, values)).rows[0]?.n ?? -1

test('another machine restores files, folders, links, modes and times', async () => {
  const one = machine()
  const { id, folder } = await sessionOn(one)
  await mkdir(join(folder, 'src/empty'), { recursive: true })
  await writeFile(join(folder, 'src/run.sh'), '#!/bin/sh\n')
  await chmod(join(folder, 'src/run.sh'), 0o755)
  await writeFile(join(folder, 'large.bin'), Buffer.alloc(2 * MiB + 5, 'abc'))
  await writeFile(join(folder, 'nothing'), '')
  await symlink('src/run.sh', join(folder, 'start'))
  await symlink('/etc/passwd', join(folder, 'outside'))
  await mkdir(join(folder, 'node_modules'))
  await writeFile(join(folder, 'node_modules/x'), 'x')
  await one.checkpoint(id, 5)
  const other = machine()
  const restored = await other.restore(id)
  assert.deepEqual([restored?.seq, restored?.files], [5, 3])
  const there = other.folderOf(id)
  assert.deepEqual((await readdir(there, { recursive: true })).sort(), [
    'large.bin',
    'nothing',
    'outside',
    'src',
    'src/empty',
    'src/run.sh',
    'start',
  ])
  assert.equal((await stat(join(there, 'src/run.sh'))).mode & 0o777, 0o755)
  assert.equal(await readlink(join(there, 'outside')), '/etc/passwd')
  assert.deepEqual(await readFile(join(there, 'large.bin')), Buffer.alloc(2 * MiB + 5, 'abc'))
  const times = await Promise.all([folder, there].map(async at => (await stat(join(at, 'nothing'))).mtimeMs))
  assert.ok(Math.abs((times[0] ?? 0) - (times[1] ?? 0)) < 2)
  assert.equal(await other.restore(id), undefined, 'the folder is up to date')
  assert.equal(await other.checkpoint(id, 6), undefined, 'nothing has changed by the restore')
})

test('only changes are stored, and equal content once per owner', async () => {
  const one = machine()
  const { id, folder } = await sessionOn(one)
  await writeFile(join(folder, 'a'), 'same words')
  await writeFile(join(folder, 'b'), 'same words')
  await one.checkpoint(id, 1)
  assert.equal(await countOf('workspace_refs where session_id = $1', [id]), 1)
  assert.equal(await one.checkpoint(id, 2), undefined)
  await writeFile(join(folder, 'c'), 'others')
  await rm(join(folder, 'a'))
  await one.checkpoint(id, 3)
  const { rows } = await pool.query(
    'select seq, is_full, files from workspace_checkpoints where session_id = $1 order by seq',
    [id],
  )
  assert.deepEqual(
    rows.map(({ seq, files }) => [seq, files]),
    [
      [1, 2],
      [3, 2],
    ],
  )
  const other = machine()
  await other.restore(id)
  assert.deepEqual((await readdir(other.folderOf(id))).sort(), ['b', 'c'])
})

test('a restore updates an older folder and keeps files outside of checkpoints', async () => {
  const one = machine()
  const other = machine()
  const { id, folder } = await sessionOn(one)
  await writeFile(join(folder, 'kept'), 'kept')
  await mkdir(join(folder, 'both'))
  await writeFile(join(folder, 'both/x'), 'x')
  await one.checkpoint(id, 1)
  await other.restore(id)
  const there = other.folderOf(id)
  await mkdir(join(there, 'node_modules'))
  await writeFile(join(there, 'node_modules/installed'), 'here')
  await writeFile(join(there, 'half-done'), 'of a call that was interrupted')
  await writeFile(join(there, 'kept'), 'KEPT')
  await rm(join(folder, 'both'), { recursive: true })
  await writeFile(join(folder, 'both'), 'a file now')
  await one.checkpoint(id, 2)
  await other.restore(id)
  assert.deepEqual((await readdir(there)).sort(), ['both', 'kept', 'node_modules'])
  assert.equal(await readFile(join(there, 'kept'), 'utf8'), 'kept')
  assert.equal(await readFile(join(there, 'both'), 'utf8'), 'a file now')
  assert.equal(await readFile(join(there, 'node_modules/installed'), 'utf8'), 'here')
})

test('a restore never writes through a link in the way', async () => {
  const one = machine()
  const other = machine()
  const { id, folder } = await sessionOn(one)
  await mkdir(join(folder, 'dir'))
  await writeFile(join(folder, 'dir/file'), 'inside')
  await one.checkpoint(id, 1)
  const outside = join(other.root, 'outside')
  await mkdir(outside)
  await mkdir(other.folderOf(id))
  await symlink(outside, join(other.folderOf(id), 'dir'))
  await other.restore(id)
  assert.deepEqual(await readdir(outside), [])
  assert.equal(await readFile(join(other.folderOf(id), 'dir/file'), 'utf8'), 'inside')
})

test('files beyond a limit are omitted and reported once', async () => {
  const one = machine({ fileBytes: 100, bytes: 150, files: 6 })
  const { id, folder } = await sessionOn(one)
  await writeFile(join(folder, 'huge'), 'x'.repeat(101))
  await writeFile(join(folder, 'a'), 'a'.repeat(90))
  await writeFile(join(folder, 'b'), 'b'.repeat(80))
  const first = await one.checkpoint(id, 1)
  assert.deepEqual(
    first?.leftOut?.map(({ path }) => path),
    ['a', 'huge'],
  )
  assert.ok(first?.leftOut?.[1]?.reason.includes('file limit'))
  await writeFile(join(folder, 'b'), 'c'.repeat(80))
  assert.equal((await one.checkpoint(id, 2))?.leftOut, undefined)
  await Promise.all(Array.from({ length: 9 }, (_, at) => writeFile(join(folder, `many${at}`), '')))
  assert.ok((await one.checkpoint(id, 3))?.leftOut?.some(({ reason }) => reason.includes('more than 6 files')))
})

test('a file that grows or shrinks is read again, regardless of its timestamp', async () => {
  const one = machine()
  const { id, folder } = await sessionOn(one)
  await writeFile(join(folder, 'f'), 'abcdef')
  await one.checkpoint(id, 1)
  const { atime, mtime } = await stat(join(folder, 'f'))
  await truncate(join(folder, 'f'), 3)
  await (await import('node:fs/promises')).utimes(join(folder, 'f'), atime, mtime)
  assert.ok(await one.checkpoint(id, 2))
})

test('a damaged or missing piece fails the restore, and the next attempt starts over', async () => {
  const one = machine()
  const other = machine()
  const { id, folder } = await sessionOn(one)
  await writeFile(join(folder, 'f'), 'unlike all others in this test')
  await one.checkpoint(id, 1)
  const { rows } = await pool.query<{ hash: Buffer; data: Buffer }>(
    `select b.hash, b.data from workspace_blobs b join workspace_refs r using (owner_id, hash) where r.session_id = $1`,
    [id],
  )
  const [piece] = rows
  await pool.query(`update workspace_blobs set data = 'nonsense', encoding = 'raw' where hash = $1`, [piece?.hash])
  await assert.rejects(other.restore(id), /damaged/)
  await pool.query(`update workspace_blobs set data = $2, encoding = 'raw' where hash = $1`, [
    piece?.hash,
    Buffer.from('unlike all others in this test'),
  ])
  assert.equal((await other.restore(id))?.files, 1)
})
