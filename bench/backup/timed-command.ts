import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

const program = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts')
const lookMs = 50

/** A command that has ended. */
interface Timed<T> {
  readonly seconds: number
  /** Its largest resident size. */
  readonly memoryMb: number
  /** What it printed with `--json`. */
  readonly answer: T
}

/** Runs a command on the embedded database of a data folder. */
export async function timedCommand<T>(
  args: readonly string[],
  dataDir: string,
  { mayFail = false }: { readonly mayFail?: boolean } = {},
): Promise<Timed<T>> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [program, ...args, '--json', '--data-dir', dataDir], {
    env: { PATH: process.env['PATH'], HOME: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'close') as Promise<[number | null]>
  const output = text(child.stdout)
  let memoryMb = 0
  const looking = setInterval(() => {
    memoryMb = Math.max(memoryMb, residentMb(child.pid))
  }, lookMs)
  const [code] = await exit.finally(() => clearInterval(looking))
  if (code !== 0 && !mayFail) throw new Error(`switchyard ${args.join(' ')} ended with ${code}`)
  return { seconds: (performance.now() - startedAt) / 1_000, memoryMb, answer: JSON.parse(await output) as T }
}

/** The largest resident size so far; 0 once the process has ended. */
function residentMb(pid: number | undefined): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_000
  } catch {
    return 0
  }
}
