import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { pause } from '../platform/timers.ts'
import type { SandboxDriverName } from './sandbox.ts'
import { createSandboxes, type Sandboxes, type SandboxSettings } from './sandboxes.ts'

/** A logger that discards everything. */
export const quiet = { info() {}, warn() {}, error() {} }

/** Creates a folder that is deleted after the last test of the file. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-test-'))
  after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Returns more settings for a folder of workspaces. */
type SettingsOf = (workspacesDir: string) => Promise<Pick<SandboxSettings, 'kubernetes'>>

/** Returns sandboxes of one driver, stopped and deleted after the last test. Rejects where the driver does not work. */
export async function sandboxesForTests(
  prefer: SandboxDriverName,
  settingsOf: SettingsOf = async () => ({}),
): Promise<Sandboxes & { workspacesDir: string }> {
  const workspacesDir = await mkdtemp(join(tmpdir(), 'switchyard-test-'))
  let sandboxes: Sandboxes | undefined
  // Before `settingsOf`, whose server must still run then.
  after(async () => {
    await sandboxes?.stopAll()
    await rm(workspacesDir, { recursive: true, force: true })
  })
  sandboxes = await createSandboxes({ workspacesDir, log: quiet, prefer, ...(await settingsOf(workspacesDir)) })
  return { ...sandboxes, workspacesDir }
}

/** Waits until `isTrue` resolves to true; fails after 10 s. */
export async function eventually(isTrue: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    if (await isTrue()) return
    await pause(20)
  }
  throw new Error('condition did not become true within 10 s')
}

/** Returns the number of other processes with `marker` in their command line. */
export async function countRunning(marker: string): Promise<number> {
  let count = 0
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (line.replaceAll('\0', ' ').includes(marker)) count++
  }
  return count
}

/** True while another process has `marker` in its command line. */
export const isRunning = async (marker: string): Promise<boolean> => (await countRunning(marker)) > 0
