import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('./embedded-server.ts', import.meta.url))

/** A new folder in the temp folder, for our user alone; removed after the last test of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-'))
  // A server that was killed may take a moment to end, and writes till then.
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
  return folder
}

/** A process that runs the embedded database of `dataDir`, without waiting until it serves. */
export function spawnServer(
  dataDir: string,
  as: Pick<SpawnOptions, 'uid' | 'gid'> = {},
  launcher: readonly string[] = [],
): ChildProcess {
  const [file = '', ...args] = [...launcher, process.execPath, program, dataDir]
  const child = spawn(file, args, { ...as, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] })
  after(() => child.kill('SIGKILL'))
  return child
}

/** The ready message of the process, or the reason why it does not start. */
export async function answerOf({ stdout }: ChildProcess): Promise<{ url?: string; error?: string }> {
  if (!stdout) throw new Error('the process has no output')
  const [line] = (await once(createInterface(stdout), 'line')) as [string]
  return JSON.parse(line) as { url?: string; error?: string }
}

/** Ends a process without a chance to clean up, and waits until it has exited. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
