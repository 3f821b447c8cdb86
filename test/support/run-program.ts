import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

interface Options {
  readonly args: readonly string[]
  readonly cwd: string
  /** All that the program sees of the environment besides PATH. */
  readonly env: Readonly<Record<string, string>>
  /** 60,000 by default. */
  readonly limitMs?: number
}

/** How a program ended, and what it wrote. */
export interface ProgramEnd {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program with closed input to its end. Neither it nor what it started outlives that, the limit or this process. */
export async function runProgram(file: string, { args, cwd, env, limitMs = 60_000 }: Options): Promise<ProgramEnd> {
  const child = spawn(file, args, {
    cwd,
    // A group of its own, so that its children end with it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], ...env },
  })
  const killGroup = () => {
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // Nobody of the group is left.
    }
  }
  const impatience = setTimeout(killGroup, limitMs)
  process.once('exit', killGroup)
  child.once('exit', killGroup)
  try {
    const [stdout, stderr, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve)),
    ])
    return { code, stdout, stderr }
  } finally {
    clearTimeout(impatience)
    process.off('exit', killGroup)
  }
}
