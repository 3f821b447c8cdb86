import type { ChildProcess } from 'node:child_process'
import { type Duplex, Readable, Writable } from 'node:stream'
import { startChild } from '../platform/child-process.ts'
import { type BoundedOutput, boundedOutput } from './bounded-output.ts'
import { watchDisk } from './disk-room.ts'
import type { BoundRequest, ExecOutcome, ExecResult, SandboxLimits } from './sandbox.ts'

/** A program and its inputs. */
interface Start {
  readonly file: string
  readonly args: readonly string[]
  /** The complete environment of the program. */
  readonly env: Readonly<Record<string, string>>
  readonly input?: string
  /** When true, the caller writes to its standard input. */
  readonly isInputOpen?: boolean
  /** Contents that the program can read from descriptors 3, 4 and so on. */
  readonly files?: readonly (string | Buffer)[]
  /**
   * When true, the program signals readiness on the descriptor after those of `files` and continues after an answer.
   */
  readonly awaitsReady?: boolean
}

/** A program and the way to end all its processes. */
export interface Launch extends Start {
  /** Folder on the disk whose free space is watched. */
  readonly folder: string
  /** Requests termination of all processes. Returns false when there is no process to signal. */
  readonly terminate: (child: ChildProcess) => boolean
  /** Kills all processes. */
  readonly kill: (child: ChildProcess) => void
}

export interface LimitedRun extends ExecResult {
  /** The start of the program's standard error. */
  readonly errorOutput: string
}

interface Bounds {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly limits: SandboxLimits
  readonly diskFloor?: BoundRequest['diskFloor']
  /** Called with each part of the output as it arrives. */
  readonly onOutput?: ((part: Buffer) => void) | undefined
}

const errorOutputBytes = 4096

/** Runs a program until it ends or exceeds a limit. Rejects only when it cannot be started. */
export async function runLimited(launch: Launch, bounds: Bounds): Promise<LimitedRun> {
  const output = boundedOutput(bounds.limits.outputBytes)
  const errorOutput = boundedOutput(errorOutputBytes)
  if (bounds.signal.aborted) return ended('cancelled', null, { output, errorOutput })

  const child = startWithInput(launch)
  const closed = closing(child)
  const ways = { folder: launch.folder, terminate: () => launch.terminate(child), kill: () => launch.kill(child) }
  const bound = watchLimits(ways, bounds)
  child.stdout?.on('data', (chunk: Buffer) => {
    output.add(chunk)
    bounds.onOutput?.(chunk)
    if (output.bytes > bounds.limits.totalOutputBytes) bound.stop('output_limit')
  })
  child.stderr?.on('data', (chunk: Buffer) => errorOutput.add(chunk))
  try {
    const exitCode = await closed
    return ended(bound.outcome(), exitCode, { output, errorOutput })
  } finally {
    await bound.release()
  }
}

/** How a command is ended. */
interface Ways {
  readonly folder: string
  /** Requests the end of all its processes. Returns false when there is no process to signal. */
  readonly terminate: () => boolean
  /** Kills all its processes. */
  readonly kill: () => void
}

/** Watches timeout, signal and disk; the first to trigger decides the outcome. */
export function watchLimits({ folder, terminate, kill }: Ways, { timeoutMs, signal, limits, diskFloor }: Bounds) {
  let outcome: ExecOutcome = 'exited'
  let grace: NodeJS.Timeout | undefined
  const stop = (why: ExecOutcome) => {
    if (outcome !== 'exited') return
    outcome = why
    if (why === 'timed_out' && terminate()) grace = setTimeout(kill, limits.graceMs)
    else kill()
  }
  const cancel = () => {
    // A cancelled call does not wait for the grace period of a timeout.
    if (grace) kill()
    stop('cancelled')
  }
  signal.addEventListener('abort', cancel, { once: true })
  const timer = setTimeout(() => stop('timed_out'), timeoutMs)
  const stopWatching = watchDisk(folder, { floors: limits, floor: diskFloor, full: () => stop('disk_limit') })
  return {
    stop,
    outcome: () => outcome,
    async release() {
      clearTimeout(timer)
      clearTimeout(grace)
      signal.removeEventListener('abort', cancel)
      await stopWatching()
    },
  }
}

/** Starts a program and writes its initial inputs. */
export function startWithInput({ file, args, env, input, isInputOpen, files = [], awaitsReady }: Start): ChildProcess {
  const child = startChild(file, args, {
    env,
    cwd: '/',
    stdio: [
      input === undefined && !isInputOpen ? 'ignore' : 'pipe',
      'pipe',
      'pipe',
      ...files.map(() => 'pipe' as const),
      ...(awaitsReady ? (['pipe'] as const) : []),
    ],
  })
  if (input !== undefined) writeTo(child.stdin, input)
  for (const [index, content] of files.entries()) writeTo(child.stdio[3 + index], content)
  if (awaitsReady) confirmReady(child.stdio.at(-1))
  return child
}

type Pipe = Readable | Writable | Duplex | null | undefined

function writeTo(pipe: Pipe, content: string | Buffer): void {
  if (!(pipe instanceof Writable)) return
  if (pipe instanceof Readable) pipe.resume()
  pipe.end(content)
}

function confirmReady(pipe: Pipe): void {
  if (!(pipe instanceof Readable && pipe instanceof Writable)) return
  pipe.once('data', () => pipe.end('go\n'))
}

/** Returns the exit code once the program has exited and its output is closed. */
function closing(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => resolve(code))
  })
}

interface Streams {
  readonly output: BoundedOutput
  readonly errorOutput: BoundedOutput
}

const ended = (outcome: ExecOutcome, exitCode: number | null, { output, errorOutput }: Streams): LimitedRun => ({
  ...resultOf(outcome, exitCode, output),
  errorOutput: errorOutput.text(),
})

/** Returns the result of a command; one that was stopped has no exit code. */
export const resultOf = (outcome: ExecOutcome, exitCode: number | null, output: BoundedOutput): ExecResult => ({
  outcome,
  exitCode: outcome === 'exited' ? exitCode : null,
  output: output.text(),
  outputBytes: output.bytes,
  truncated: output.truncated,
})
