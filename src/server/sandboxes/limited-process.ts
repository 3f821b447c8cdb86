import type { ChildProcess } from 'node:child_process'
import { type Duplex, Readable, Writable } from 'node:stream'
import { startChild } from '../platform/child-process.ts'
import { watchDisk } from './disk-room.ts'
import { type KeptOutput, keptOutput } from './kept-output.ts'
import type { ExecOutcome, ExecResult, SandboxLimits } from './sandbox.ts'

/** A program, and how to end all that it starts. */
export interface Launch {
  readonly file: string
  readonly args: readonly string[]
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>
  /** Folder on the disk whose free space is watched. */
  readonly folder: string
  readonly input?: string
  /** True leaves its standard input to the caller. */
  readonly isInputOpen?: boolean
  /** What the program can read from descriptors 3, 4 and so on. */
  readonly files?: readonly (string | Buffer)[]
  /** True when the program says at the descriptor after those of `files` that it is ready, and goes on when answered. */
  readonly waits?: boolean
  /** Asks all of it to end; false when there is nobody to ask. */
  readonly ask: (child: ChildProcess) => boolean
  /** Ends all of it. */
  readonly end: (child: ChildProcess) => void
}

export interface LimitedRun extends ExecResult {
  /** The start of what the program itself wrote to standard error. */
  readonly complaint: string
}

interface Bounds {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly limits: SandboxLimits
}

const complaintBytes = 4096

/** Runs a program to its end, or to the first bound that it hits. Rejects only when it cannot be started. */
export async function runLimited(launch: Launch, bounds: Bounds): Promise<LimitedRun> {
  const output = keptOutput(bounds.limits.outputBytes)
  const complaint = keptOutput(complaintBytes)
  if (bounds.signal.aborted) return ended('cancelled', null, { output, complaint })

  const child = startFed(launch)
  const closed = closing(child)
  const bound = bind(child, launch, bounds)
  child.stdout?.on('data', (chunk: Buffer) => {
    output.add(chunk)
    if (output.bytes > bounds.limits.totalOutputBytes) bound.stop('output_limit')
  })
  child.stderr?.on('data', (chunk: Buffer) => complaint.add(chunk))
  try {
    const exitCode = await closed
    return ended(bound.outcome(), exitCode, { output, complaint })
  } finally {
    await bound.release()
  }
}

/** Watches clock, signal and disk; the first that objects decides the outcome. */
function bind(child: ChildProcess, launch: Launch, { timeoutMs, signal, limits }: Bounds) {
  const end = () => launch.end(child)
  let outcome: ExecOutcome = 'exited'
  let grace: NodeJS.Timeout | undefined
  const stop = (why: ExecOutcome) => {
    if (outcome !== 'exited') return
    outcome = why
    if (why === 'timed_out' && launch.ask(child)) grace = setTimeout(end, limits.graceMs)
    else end()
  }
  const cancel = () => {
    // A cancelled call does not wait for a grace period that a time-out began.
    if (grace) end()
    stop('cancelled')
  }
  signal.addEventListener('abort', cancel, { once: true })
  const timer = setTimeout(() => stop('timed_out'), timeoutMs)
  const stopWatching = watchDisk(launch.folder, limits, () => stop('disk_limit'))
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

/** Starts a program and feeds it what it reads first. */
export function startFed({ file, args, env, input, isInputOpen, files = [], waits }: Launch): ChildProcess {
  const child = startChild(file, args, {
    env,
    cwd: '/',
    stdio: [
      input === undefined && !isInputOpen ? 'ignore' : 'pipe',
      'pipe',
      'pipe',
      ...files.map(() => 'pipe' as const),
      ...(waits ? (['pipe'] as const) : []),
    ],
  })
  if (input !== undefined) give(child.stdin, input)
  for (const [index, content] of files.entries()) give(child.stdio[3 + index], content)
  if (waits) answer(child.stdio.at(-1))
  return child
}

type Pipe = Readable | Writable | Duplex | null | undefined

function give(pipe: Pipe, content: string | Buffer): void {
  if (!(pipe instanceof Writable)) return
  if (pipe instanceof Readable) pipe.resume()
  pipe.end(content)
}

function answer(pipe: Pipe): void {
  if (!(pipe instanceof Readable && pipe instanceof Writable)) return
  pipe.once('data', () => pipe.end('go\n'))
}

/** The exit code, once the program has ended and nobody holds its output any more. */
function closing(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => resolve(code))
  })
}

interface Streams {
  readonly output: KeptOutput
  readonly complaint: KeptOutput
}

const ended = (outcome: ExecOutcome, exitCode: number | null, { output, complaint }: Streams): LimitedRun => ({
  outcome,
  exitCode: outcome === 'exited' ? exitCode : null,
  output: output.text(),
  outputBytes: output.bytes,
  truncated: output.truncated,
  complaint: complaint.text(),
})
