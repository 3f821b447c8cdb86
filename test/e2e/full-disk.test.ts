import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { assertCleared, assertStopped, onSmallDisk, type SmallDisk } from '../support/service/full-disk.ts'
import { lack } from '../support/service/lack.ts'
import { send } from '../support/service/send.ts'
import { toolSession } from '../support/sessions/tool-session.ts'

const MiB = 1024 * 1024

/** A service whose data folder is a volume of 400 MiB; the database is elsewhere. */
const onVolume = async (work: (disk: SmallDisk) => Promise<void>): Promise<void> =>
  onSmallDisk({ mebibytes: 400, databaseUrl: (await freshDatabase()).url }, work)

if (!lack('bubblewrap')) {
  test('H6: files that a command wrote to fill the disk are deleted, and the service keeps running', () =>
    onVolume(disk => assertStopped(disk)))

  test('H6: a command that fills the disk and ends at once is found as well', () =>
    onVolume(async disk => {
      await assertCleared(disk, {
        command: 'for i in $(seq 400); do fallocate -l 20M f$i 2> /dev/null || break; done',
        shown: /disk is nearly full; \d+ files of this command were deleted/,
      })
    }))
}

test('H6: on a full disk the reserve is freed, readiness reports it, and deleting a session frees its files', async () => {
  await onVolume(async ({ service, dataDir, freeMiB, reserve, readiness }) => {
    const session = await toolSession(service)
    await session.run({ name: 'write', input: { file_path: 'a', content: 'x' } })
    const workspace = join(dataDir, 'workspaces', session.id)
    await writeFile(join(workspace, 'large'), Buffer.alloc(150 * MiB))
    // Another program on the same disk takes what is left, the freed reserve too.
    const filler = join(dataDir, 'filler')
    for (let file = 0; existsSync(reserve); file++)
      await writeFile(`${filler}${file}`, Buffer.alloc(8 * MiB)).catch(() => undefined)
    // The room of a deleted file comes back a moment after its name is gone: the other program keeps writing.
    let small = 0
    const fill = async () => {
      while (freeMiB() > 0.02)
        await writeFile(`${filler}-small${small++}`, Buffer.alloc(16 * 1024)).catch(() => undefined)
    }
    await eventually(async () => {
      await fill()
      return (await readiness()).includes('cannot write to the data folder: disk is full')
    })
    assert.equal((await send(service, `DELETE /session/${session.id}`)).status, 200)
    assert.ok(!existsSync(workspace), 'the files of the session are still there')
    for (let file = 0; existsSync(`${filler}${file}`); file++) await rm(`${filler}${file}`)
    await eventually(async () => (await readiness()) === '{"status":"ok"}')
    await eventually(() => existsSync(reserve), { what: 'the reserve' })
  })
})
