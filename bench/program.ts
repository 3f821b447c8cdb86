import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A program that runs in a separate process. */
export interface Program<Answer> {
  readonly pid: number
  /** The first line that it wrote, read as JSON. */
  readonly answer: Answer
  stop(): Promise<void>
}

/** Starts the script at `url` with one JSON argument, as `startCommand` does. */
export const startProgram = <Answer>(url: string, options: object): Promise<Program<Answer>> =>
  startCommand(process.execPath, [fileURLToPath(url), JSON.stringify(options)])

/** Starts a command and waits for its first line. It does not outlive this process. `onStart` gets its process id before. */
export async function startCommand<Answer>(
  command: string,
  args: readonly string[],
  onStart?: (pid: number) => void,
): Promise<Program<Answer>> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  bindLifetime(child)
  if (child.pid !== undefined) onStart?.(child.pid)
  const lines = createInterface(child.stdout)
  const line = await Promise.race([
    once(lines, 'line').then(([text]) => String(text)),
    once(child, 'exit').then(([code]) =>
      Promise.reject(new Error(`${[command, ...args].join(' ')} exited with ${code}`)),
    ),
  ])
  return { pid: child.pid ?? 0, answer: JSON.parse(line) as Answer, stop: () => ended(child) }
}

/** Takes the child along when this process ends. */
export function bindLifetime(child: ChildProcess): void {
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
}
