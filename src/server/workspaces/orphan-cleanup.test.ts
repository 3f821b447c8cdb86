import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/support/service/data-folder.ts'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { storedSession } from '../../../test/support/sessions/session-rows.ts'
import { checkpointStore } from './checkpoint-store.ts'
import { createOrphanCleanup } from './orphan-cleanup.ts'

const { pool } = await freshDatabase()

test('files of sessions that were deleted elsewhere are removed; those of active or unknown sessions and other files stay', async () => {
  const folder = temporaryFolder()
  const [living, deleted, justDeleted] = [
    await storedSession(pool),
    await storedSession(pool),
    await storedSession(pool),
  ]
  await pool.query(`update sessions set deleted_at = clock_timestamp() - interval '2 hours' where id = $1`, [deleted])
  await pool.query('update sessions set deleted_at = clock_timestamp() where id = $1', [justDeleted])
  for (const id of [living, justDeleted, 'ses_unknown']) await mkdir(join(folder, id))
  await mkdir(join(folder, `${deleted}.home`))
  await writeFile(join(folder, `${deleted}.checkpoint`), 'chk_1')
  await writeFile(join(folder, '.folder-id'), 'x')
  const removed: string[] = []
  const log = {
    info: () => undefined,
    debug: (fields: unknown) => assert.fail(String((fields as { err?: unknown }).err)),
  }
  const remove = async (id: string) => void removed.push(id)
  await createOrphanCleanup({ folder, deletedAmong: checkpointStore(pool).deletedAmong, remove, log }).sweep()
  assert.deepEqual(removed, [deleted])
})
