import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { BoundRequest, SandboxDriver, SandboxDriverName } from './sandbox.ts'
import { createSandboxes, type Sandboxes, type SandboxSettings } from './sandboxes.ts'

/** A logger that discards everything. */
export const quiet = { info() {}, warn() {}, error() {} }

/** Creates a folder that is deleted after the last test of the file. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-test-'))
  after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

type More = Pick<SandboxSettings, 'settings' | 'networkOf'>

/**
 * Returns sandboxes of one driver, stopped and deleted after the last test. Rejects where the driver does not
 * work. `more` may depend on the folder of the workspaces.
 */
export async function sandboxesForTests(
  prefer: SandboxDriverName,
  more: More | ((workspacesDir: string) => Promise<More>) = {},
): Promise<Sandboxes & { workspacesDir: string }> {
  const workspacesDir = await mkdtemp(join(tmpdir(), 'switchyard-test-'))
  let sandboxes: Sandboxes | undefined
  // Hooks run in order: the server that `more` starts must still run then.
  after(async () => {
    await sandboxes?.stopAll()
    await rm(workspacesDir, { recursive: true, force: true })
  })
  const wanted = typeof more === 'function' ? await more(workspacesDir) : more
  sandboxes = await createSandboxes({ workspacesDir, log: quiet, prefer, ...wanted })
  return { ...sandboxes, workspacesDir }
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

/** Returns a long sleep that is unique on this machine. */
export const longSleep = () => `sleep 9${String(process.hrtime.bigint()).slice(-8)}`

interface Ground {
  readonly driver: SandboxDriver
  /** A workspace that the driver can use. */
  readonly folder: string
}

/** Returns a function that runs a command in the workspace. */
export const runnerOf =
  ({ driver, folder }: Ground) =>
  (command: string, request: Partial<BoundRequest> = {}) =>
    driver.exec(folder, { command, timeoutMs: 20_000, signal: new AbortController().signal, ...request })
