import assert from 'node:assert/strict'
import { existsSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { type Service, startService } from '../support/service/service.ts'
import { smallVolume } from '../support/service/small-volume.ts'
import { toolSession } from '../support/sessions/tool-session.ts'
import { configFor } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const MiB = 1024 * 1024

/** A service whose database and files share a volume of 700 MiB. */
async function onSmallVolume(work: (rig: Awaited<ReturnType<typeof rigOf>>) => Promise<void>): Promise<void> {
  const volume = smallVolume(700)
  assert.ok(volume, 'this user may not mount a file system')
  const upstream = await startScriptedUpstream({})
  const service = await startService({
    dataDir: volume.folder,
    config: configFor(upstream),
    databaseUrl: '',
    readyMs: 120_000,
  })
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
  return { service, freeMiB, readiness }
}

test('H6: files that a command wrote to fill the disk are deleted, and the service keeps running', async () => {
  await onSmallVolume(async ({ service, freeMiB, readiness }) => {
    const session = await toolSession(service)
    const before = freeMiB()
    const fill = 'mkdir -p deep/er; for i in $(seq 400); do fallocate -l 20M deep/er/f$i || break; done; sleep 20'
    const [text = ''] = await session.run({ name: 'bash', input: { command: fill } })
    assert.match(text, /stopped: disk is nearly full; \d+ files of this command were deleted/)
    assert.ok(freeMiB() > before / 2 - 30, `${freeMiB()} MiB of ${before} are free`)
    await eventually(async () => (await readiness()) === '{"status":"ok"}', { withinMs: 20_000 })
    assert.equal((await send(service, `DELETE /session/${session.id}`)).status, 200)
    await eventually(() => freeMiB() > before - 50)
  })
})
