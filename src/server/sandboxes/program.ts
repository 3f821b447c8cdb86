import type { ChildProcess } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import { startChild } from '../platform/child-process.ts'
import { pause } from '../platform/timers.ts'
import { watchDisk } from './disk-room.ts'
import { keptOutput } from './kept-output.ts'
import { type Launch, startFed } from './limited-process.ts'
import type { BoundProgram, ProgramExit, ProgramFolders, SandboxLimits, SandboxProgram } from './sandbox.ts'

const keptErrorBytes = 64 * 1024
const exitOfMissingProgram = 127

interface Bounds {
  readonly limits: SandboxLimits
  /** Ends the program at once. */
  readonly signal: AbortSignal
  /** Called once nothing of the program is left. */
  readonly ended: () => Promise<void>
}

/** Starts a program that goes on until it ends, is stopped, its signal aborts or it fills the disk. */
export function startProgram(launch: Launch, bounds: Bounds): SandboxProgram {
  return supervised(startFed(launch), launch, bounds)
}

function supervised(child: ChildProcess, launch: Launch, { limits, signal, ended }: Bounds): SandboxProgram {
  const { stdin, stdout, stderr } = child
  if (!(stdin instanceof Writable && stdout instanceof Readable && stderr instanceof Readable))
    throw new Error('the program has no pipes')
  const errors = keptOutput(keptErrorBytes)
  stderr.on('data', (chunk: Buffer) => errors.add(chunk))

  const end = () => launch.end(child)
  signal.addEventListener('abort', end, { once: true })
  const stopWatching = watchDisk(launch.folder, limits, () => {
    errors.add(Buffer.from('the disk is full; the program was ended\n'))
    end()
  })
  const exited = exitOf(child, message => errors.add(Buffer.from(message))).then(async exit => {
    signal.removeEventListener('abort', end)
    await stopWatching()
    await ended()
    return exit
  })
  if (signal.aborted) end()

  let stopping: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    stdin.end()
    const grace = launch.ask(child) ? setTimeout(end, limits.graceMs) : undefined
    if (!grace) end()
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

/** The end of the process. Its output may still hold what nobody has read. */
function exitOf(child: ChildProcess, complain: (message: string) => void): Promise<ProgramExit> {
  return new Promise(resolve => {
    child.once('error', ({ message }) => {
      // A signal that could not be sent is told here too, and ends nothing.
      if (child.pid !== undefined) return
      complain(`${message}\n`)
      resolve({ code: exitOfMissingProgram })
    })
    child.once('exit', code => resolve({ code }))
  })
}

/** Ends the group of the program as soon as the server's end of descriptor 3 is gone, however the server ended. */
const guarded = [
  '{ trap "" TERM; read -r _ <&3; kill -KILL 0; } </dev/null >/dev/null 2>&1 &',
  'exec 3<&-',
  'cd "$1" || exit 125',
  'exec /bin/sh -c "$2"',
].join('\n')

interface Trusted extends Omit<Bounds, 'ended'> {
  readonly folders: ProgramFolders
}

/** Starts a program with the rights of the server, in a process group of its own that ends with it and with the server. */
export function startTrusted({ command, env }: BoundProgram, { folders, ...bounds }: Trusted): SandboxProgram {
  const child = startChild('/bin/sh', ['-c', guarded, 'sh', folders.workspace, command], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: folders.home, LANG: 'C.UTF-8', TERM: 'dumb', ...env },
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  })
  const group = (name: NodeJS.Signals) => () => signalGroup(child, name)
  const launch = { file: '', args: [], env, folder: folders.workspace, ask: group('SIGTERM'), end: group('SIGKILL') }
  // Whatever it has started and left behind is still in its group.
  return supervised(child, launch, { ...bounds, ended: () => endGroup(child) })
}

const mostLooks = 100

/** Ends what is left of a group and waits for that, a second at most: a zombie that nobody reaps stays in its group. */
async function endGroup(child: ChildProcess): Promise<void> {
  for (let look = 0; look < mostLooks && signalGroup(child, 'SIGKILL'); look++) await pause(10)
}

function signalGroup({ pid }: ChildProcess, name: NodeJS.Signals): boolean {
  try {
    return pid !== undefined && process.kill(-pid, name)
  } catch {
    // Nobody of the group is left.
    return false
  }
}
