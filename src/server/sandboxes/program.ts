import type { ChildProcess } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import { startChild } from '../platform/child-process.ts'
import { pause } from '../platform/timers.ts'
import { boundedOutput } from './bounded-output.ts'
import { watchDisk } from './disk-room.ts'
import { type Launch, startWithInput } from './limited-process.ts'
import type { BoundProgram, ProgramExit, ProgramFolders, SandboxLimits, SandboxProgram } from './sandbox.ts'

const retainedErrorBytes = 64 * 1024
const exitOfMissingProgram = 127

interface Bounds {
  /** Folder on the disk whose free space is watched. */
  readonly folder: string
  readonly limits: SandboxLimits
  /** Kills the program when it aborts. */
  readonly signal: AbortSignal
  /** Called when no process of the program is left. */
  readonly ended: () => Promise<void>
}

/** A program that was started, before its limits apply. */
export interface Started {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves at its exit; its output may still have unread data. `problem` is added to its errors. Never rejects. */
  readonly exited: Promise<ProgramExit & { readonly problem: string }>
  /** Requests the end of all its processes. Returns false when there is no process to signal. */
  terminate(): boolean
  kill(): void
}

/** Starts a program that runs until it exits, is stopped, its signal aborts, or it fills the disk. */
export function startProgram(launch: Launch, bounds: Omit<Bounds, 'folder'>): SandboxProgram {
  return supervised(processOf(startWithInput(launch), launch), { ...bounds, folder: launch.folder })
}

function processOf(child: ChildProcess, { terminate, kill }: Pick<Launch, 'terminate' | 'kill'>): Started {
  const { stdin, stdout, stderr } = child
  if (!(stdin instanceof Writable && stdout instanceof Readable && stderr instanceof Readable))
    throw new Error('program has no pipes (bug)')
  return { stdin, stdout, stderr, exited: exitOf(child), terminate: () => terminate(child), kill: () => kill(child) }
}

/** Applies the limits to a program that was started. */
export function supervised(started: Started, { folder, limits, signal, ended }: Bounds): SandboxProgram {
  const { stdin, stdout, stderr, kill } = started
  const errors = boundedOutput(retainedErrorBytes)
  stderr.on('data', (chunk: Buffer) => errors.add(chunk))

  signal.addEventListener('abort', kill, { once: true })
  const stopWatching = watchDisk(folder, {
    floors: limits,
    full() {
      errors.add(Buffer.from('disk is full; the program was killed\n'))
      kill()
    },
  })
  const exited = started.exited.then(async ({ code, problem }) => {
    errors.add(Buffer.from(problem))
    signal.removeEventListener('abort', kill)
    await stopWatching()
    await ended()
    return { code }
  })
  if (signal.aborted) kill()

  let stopping: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    stdin.end()
    const grace = started.terminate() ? setTimeout(kill, limits.graceMs) : undefined
    if (!grace) kill()
    await exited
    clearTimeout(grace)
  }
  return {
    stdin,
    stdout,
    errors: () => errors.text(),
    exited,
    stop: () => {
      stopping ??= stop()
      return stopping
    },
  }
}

function exitOf(child: ChildProcess): Started['exited'] {
  return new Promise(resolve => {
    child.once('error', ({ message }) => {
      // Also emitted for a signal that could not be sent; the process then still runs.
      if (child.pid === undefined) resolve({ code: exitOfMissingProgram, problem: `${message}\n` })
    })
    child.once('exit', code => resolve({ code, problem: '' }))
  })
}

/**
 * Kills the process group of the program as soon as the server's end of descriptor 3 closes, however the server exits.
 */
const guarded = [
  '{ trap "" TERM; read -r _ <&3; kill -KILL 0; } </dev/null >/dev/null 2>&1 &',
  'exec 3<&-',
  'cd "$1" || exit 125',
  'exec /bin/sh -c "$2"',
].join('\n')

interface Trusted extends Omit<Bounds, 'ended' | 'folder'> {
  readonly folders: ProgramFolders
}

/**
 * Starts a program with the rights of the server, in a process group that ends with the program and with the server.
 */
export function startTrusted({ command, env }: BoundProgram, { folders, ...bounds }: Trusted): SandboxProgram {
  const child = startChild('/bin/sh', ['-c', guarded, 'sh', folders.workspace, command], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: folders.home, LANG: 'C.UTF-8', TERM: 'dumb', ...env },
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  })
  const group = (name: NodeJS.Signals) => () => signalGroup(child, name)
  // Processes that the program has left behind are still in its group.
  return supervised(processOf(child, { terminate: group('SIGTERM'), kill: group('SIGKILL') }), {
    ...bounds,
    folder: folders.workspace,
    ended: () => endGroup(child),
  })
}

const maxChecks = 100

/** Kills the rest of a group and waits for that up to 1 s: a zombie that is never reaped stays in its group. */
async function endGroup(child: ChildProcess): Promise<void> {
  for (let check = 0; check < maxChecks && signalGroup(child, 'SIGKILL'); check++) await pause(10)
}

function signalGroup({ pid }: ChildProcess, name: NodeJS.Signals): boolean {
  try {
    return pid !== undefined && process.kill(-pid, name)
  } catch {
    // The group has no processes left.
    return false
  }
}
