import assert from 'node:assert/strict'
import { existsSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { type ToolSession, toolSession } from '../sessions/tool-session.ts'
import { configFor } from '../upstream/scripted-service.ts'
import { startScriptedUpstream } from '../upstream/scripted-upstream.ts'
import { eventually } from './eventually.ts'
import { send } from './send.ts'
import { type Service, startService } from './service.ts'
import { smallVolume } from './small-volume.ts'

const MiB = 1024 * 1024

/** A service whose data folder is a small volume. */
export interface SmallDisk {
  readonly service: Service
  readonly dataDir: string
  /** File that is deleted when the disk is full. */
  readonly reserve: string
  freeMiB(): number
  /** Body of the readiness check. */
  readiness(): Promise<string>
}

interface Options {
  readonly mebibytes: number
  /** Empty: the database is on the volume as well. */
  readonly databaseUrl: string
}

/** Runs `work` with a service on a volume of that size, once its reserve exists. */
export async function onSmallDisk(
  { mebibytes, databaseUrl }: Options,
  work: (disk: SmallDisk) => Promise<void>,
): Promise<void> {
  const volume = smallVolume(mebibytes)
  assert.ok(volume, 'this user may not mount a file system')
  const upstream = await startScriptedUpstream({})
  const service = await startService({ dataDir: volume.folder, config: configFor(upstream), databaseUrl })
  try {
    const reserve = join(service.dataDir, 'reserve')
    await eventually(() => existsSync(reserve), { what: 'the reserve' })
    await work({
      service,
      dataDir: service.dataDir,
      reserve,
      freeMiB() {
        const { bavail, bsize } = statfsSync(service.dataDir)
        return (bavail * bsize) / MiB
      },
      readiness: async () => (await send(service, 'GET /health/ready')).text,
    })
  } finally {
    await service.stop()
    await upstream.stop()
    volume.unmount()
  }
}

interface Filling {
  readonly command: string
  /** What the model is shown. */
  readonly shown: RegExp
  /** Time until the service is ready again; that of `eventually` by default. */
  readonly withinMs?: number
}

/** Asserts that the files of a command that fills the disk are deleted, and that the service is ready afterwards. */
export async function assertCleared(disk: SmallDisk, { command, shown, withinMs }: Filling): Promise<ToolSession> {
  const session = await toolSession(disk.service)
  const before = disk.freeMiB()
  const [text = ''] = await session.run({ name: 'bash', input: { command } })
  assert.match(text, shown)
  assert.ok(disk.freeMiB() > before / 2 - 30, `${disk.freeMiB()} MiB of ${before} are free`)
  await eventually(
    async () => (await disk.readiness()) === '{"status":"ok"}',
    withinMs === undefined ? {} : { withinMs },
  )
  return session
}

/** Asserts that a command that fills the disk and keeps running is stopped, and that its session can be deleted. */
export async function assertStopped(disk: SmallDisk, bounds: Pick<Filling, 'withinMs'> = {}): Promise<void> {
  const before = disk.freeMiB()
  const session = await assertCleared(disk, {
    ...bounds,
    command: 'mkdir -p deep/er; for i in $(seq 400); do fallocate -l 20M deep/er/f$i || break; done; sleep 20',
    shown: /stopped: disk is nearly full; \d+ files of this command were deleted/,
  })
  assert.equal((await send(disk.service, `DELETE /session/${session.id}`)).status, 200)
  await eventually(() => disk.freeMiB() > before - 50)
}
