import assert from 'node:assert/strict'
import { existsSync, statfsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { lack } from '../support/service/lack.ts'
import { send } from '../support/service/send.ts'
import { type Service, startService } from '../support/service/service.ts'
import { smallVolume } from '../support/service/small-volume.ts'
import { toolSession } from '../support/sessions/tool-session.ts'
import { configFor } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const MiB = 1024 * 1024

/** A service whose data folder is a volume of 400 MiB; the database is elsewhere. */
async function onSmallVolume(work: (rig: Awaited<ReturnType<typeof rigOf>>) => Promise<void>): Promise<void> {
  const volume = smallVolume(400)
  assert.ok(volume, 'this user may not mount a file system')
  const upstream = await startScriptedUpstream({})
  const database = await freshDatabase()
  const service = await startService({ dataDir: volume.folder, config: configFor(upstream), databaseUrl: database.url })
  try {
    await work(await rigOf(service))
  } finally {
    await service.stop()
    await upstream.stop()
    volume.unmount()
  }
}

async function rigOf(service: Service) {
  const { dataDir } = service
  const freeMiB = () => {
    const { bavail, bsize } = statfsSync(dataDir)
    return (bavail * bsize) / MiB
  }
  const reserve = join(dataDir, 'reserve')
  await eventually(() => existsSync(reserve), { what: 'the reserve' })
  const readiness = async () => (await send(service, 'GET /health/ready')).text
  return { service, dataDir, freeMiB, reserve, readiness }
}

if (!lack('bubblewrap')) {
  test('H6: files that a command wrote to fill the disk are deleted, and the service keeps running', async () => {
    await onSmallVolume(async ({ service, freeMiB, readiness }) => {
      const session = await toolSession(service)
      const before = freeMiB()
      const fill = 'mkdir -p deep/er; for i in $(seq 400); do fallocate -l 20M deep/er/f$i || break; done; sleep 20'
      const [text = ''] = await session.run({ name: 'bash', input: { command: fill } })
      assert.match(text, /stopped: disk is nearly full; \d+ files of this command were deleted/)
      assert.ok(freeMiB() > before / 2 - 30, `${freeMiB()} MiB of ${before} are free`)
      await eventually(async () => (await readiness()) === '{"status":"ok"}')
      assert.equal((await send(service, `DELETE /session/${session.id}`)).status, 200)
      await eventually(() => freeMiB() > before - 50)
    })
  })
}

if (!lack('bubblewrap')) {
  test('H6: a command that fills the disk and ends at once is found as well', async () => {
    await onSmallVolume(async ({ service, freeMiB, readiness }) => {
      const session = await toolSession(service)
      const before = freeMiB()
      const fill = 'for i in $(seq 400); do fallocate -l 20M f$i 2> /dev/null || break; done'
      const [text = ''] = await session.run({ name: 'bash', input: { command: fill } })
      assert.match(text, /disk is nearly full; \d+ files of this command were deleted/)
      assert.ok(freeMiB() > before / 2 - 30, `${freeMiB()} MiB of ${before} are free`)
      await eventually(async () => (await readiness()) === '{"status":"ok"}')
    })
  })
}

test('H6: on a full disk the reserve is freed, readiness reports it, and deleting a session frees its files', async () => {
  await onSmallVolume(async ({ service, dataDir, freeMiB, reserve, readiness }) => {
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
