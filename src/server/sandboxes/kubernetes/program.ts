import { Readable, Writable } from 'node:stream'
import { type Started, supervised } from '../program.ts'
import type { BoundProgram, ProgramFolders, SandboxLimits, SandboxProgram } from '../sandbox.ts'
import { endOf, waysToEnd } from './ending.ts'
import type { RunningExec } from './exec.ts'
import { guardScript, inputLines, programScript } from './scripts.ts'
import type { AcquiredSlot, Slots } from './slots.ts'

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
    let exec: RunningExec | undefined
    const stdout = new Readable({ read: () => exec?.resume() })
    const stderr = new Readable({ read: () => undefined })
    // A program that is being killed must not wait for a reader.
    const killing = new AbortController()
    const guard = await slot.start(guardScript, { signal })
    exec = await slot.start(programScript(limits, readable), {
      signal,
      stdout: part => void (stdout.push(part) || killing.signal.aborted || exec?.pause()),
      stderr: part => void stderr.push(part),
    })
    void exec.send(inputLines(command, env))
    return supervised(startedOf({ slot, exec, guard, stdout, stderr, killing }), {
      folder: folders.workspace,
      limits,
      signal,
      ended: async () => guard.abandon(),
    })
  } catch (error) {
    void slot.release()
    throw error
  }
}

interface Parts {
  readonly slot: AcquiredSlot
  readonly exec: RunningExec
  readonly guard: RunningExec
  readonly stdout: Readable
  readonly stderr: Readable
  readonly killing: AbortController
}

function startedOf({ slot, exec, guard, stdout, stderr, killing }: Parts): Started {
  const { terminate, kill } = waysToEnd({ slot, exec, guard })
  const exited = exec.ended.then(async status => {
    stdout.push(null)
    stderr.push(null)
    const { isClean, lost } = await endOf(slot, status)
    if (isClean) void slot.release()
    return {
      code: status.kind === 'exited' && status.code < 128 ? status.code : null,
      problem: lost === undefined ? '' : `the sandbox ended: ${lost}\n`,
    }
  })
  return {
    stdin: inputOf(exec),
    stdout,
    stderr,
    exited,
    terminate,
    kill() {
      killing.abort()
      exec.resume()
      kill()
    },
  }
}

const inputOf = (exec: RunningExec): Writable =>
  new Writable({
    write: (chunk: Buffer, _encoding, done) => void exec.send(chunk).then(() => done()),
    final(done) {
      exec.closeInput()
      done()
    },
  })
