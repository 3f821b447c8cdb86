import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { compileCache, programFile } from './program.ts'

const root = join(import.meta.dirname, '..', '..', '..')

/** How a command line ended. */
export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the real program to its end, with only these variables. Interrupts it as Ctrl-C does when `stop` resolves. */
export async function runSwitchyard(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  stop?: Promise<unknown>,
): Promise<Ended> {
  const child = spawn(process.execPath, [programFile, ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compileCache, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  void stop?.then(() => child.kill('SIGINT'))
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const [code, stdout, stderr] = await Promise.all([exit, text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr }
}
