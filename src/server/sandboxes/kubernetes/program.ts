import { Readable, Writable } from 'node:stream'
import { boundedOutput } from '../bounded-output.ts'
import { watchDisk } from '../disk-room.ts'
import type { BoundProgram, ProgramExit, ProgramFolders, SandboxLimits, SandboxProgram } from '../sandbox.ts'
import type { RunningExec } from './exec.ts'
import { guardScript, inputLines, programScript, terminateLine } from './scripts.ts'
import type { AcquiredSlot, Slots } from './slots.ts'

const retainedErrorBytes = 64 * 1024
const abandonMs = 10_000

interface Deps {
  readonly slots: Slots
  readonly limits: SandboxLimits
}

/** Starts a program in its own sandbox. A second command guards it, because its standard input is that of the program. */
export async function startProgram(
  { slots, limits }: Deps,
  folders: ProgramFolders,
  { base, command, env, readable, signal }: BoundProgram,
): Promise<SandboxProgram> {
  const slot = await slots.acquire(folders.workspace, { signal, image: base?.image, home: folders.home })
  try {
    const errors = boundedOutput(retainedErrorBytes)
    let exec: RunningExec | undefined
    const stdout = new Readable({ read: () => exec?.resume() })
    // A program that is being killed must not wait for a reader.
    const killing = new AbortController()
    const guard = await slot.start(guardScript, { signal })
    exec = await slot.start(programScript(limits, readable), {
      signal,
      stdout: part => void (stdout.push(part) || killing.signal.aborted || exec?.pause()),
      stderr: part => errors.add(part),
    })
    void exec.send(inputLines(command, env))
    return supervised({ slot, exec, guard, stdout, errors, killing }, { folder: folders.workspace, limits, signal })
  } catch (error) {
    void slot.release()
    throw error
  }
}

interface Started {
  readonly slot: AcquiredSlot
  readonly exec: RunningExec
  readonly guard: RunningExec
  readonly stdout: Readable
  readonly errors: ReturnType<typeof boundedOutput>
  readonly killing: AbortController
}

interface Bounds {
  readonly folder: string
  readonly limits: SandboxLimits
  readonly signal: AbortSignal
}

function supervised(
  { slot, exec, guard, stdout, errors, killing }: Started,
  { folder, limits, signal }: Bounds,
): SandboxProgram {
  const stdin = new Writable({
    write: (chunk: Buffer, _encoding, done) => void exec.send(chunk).then(() => done()),
    final(done) {
      exec.closeInput()
      done()
    },
  })
  const kill = () => {
    killing.abort()
    exec.resume()
    guard.closeInput()
    void slot.clean()
    const late = setTimeout(exec.abandon, abandonMs)
    void exec.ended.then(() => clearTimeout(late))
  }
  signal.addEventListener('abort', kill, { once: true })
  const stopWatching = watchDisk(folder, limits, () => {
    errors.add(Buffer.from('disk is full; the program was killed\n'))
    kill()
  })
  const exited = exec.ended.then(async (status): Promise<ProgramExit> => {
    signal.removeEventListener('abort', kill)
    stdout.push(null)
    await stopWatching()
    const cleaning = await slot.clean()
    const reason = cleaning === 'unreachable' ? await slot.whyEnded() : undefined
    const lost = reason ?? (status.kind === 'lost' ? status.reason : undefined)
    if (lost !== undefined) errors.add(Buffer.from(`the sandbox ended: ${lost}\n`))
    if (cleaning === 'clean') void slot.release()
    else await slot.destroy()
    guard.abandon()
    return { code: status.kind === 'exited' && status.code < 128 ? status.code : null }
  })
  if (signal.aborted) kill()

  let stopping: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    stdin.end()
    void guard.send(terminateLine)
    const grace = setTimeout(kill, limits.graceMs)
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
