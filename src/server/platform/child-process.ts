import { type ChildProcess, type ExecFileOptions, execFile, type SpawnOptions, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { AppError } from './errors.ts'
import { closeInheritedDescriptors } from './inherited-descriptors.ts'

let isClean = false

/** Before the first program starts: later, no descriptor without the mark is ever opened, so nothing is paid for each. */
function passOnlyWhatIsNamed(): void {
  if (isClean) return
  closeInheritedDescriptors()
  isClean = true
}

/**
 * Starts a program; the only place where this service does. It gets the descriptors that `stdio` names and no others. Its
 * `error` event and those of its pipes always have a listener, so that no failure to start it, to signal it or to write to
 * it ends this process; callers listen for what they act on. Errors: `unavailable` when there are no descriptors for its pipes.
 */
export function startChild(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  passOnlyWhatIsNamed()
  const child = spawn(file, args, options)
  child.on('error', () => {})
  // At the limit of open files Node returns a child without pipes and reports why one tick later.
  if ((child.stdio as unknown) === undefined)
    throw new AppError('unavailable', 'cannot start a process: limit of open files reached; retry later')
  // A pipe that breaks is seen by the end of the program.
  for (const pipe of child.stdio) pipe?.on('error', () => {})
  return child
}

/** Runs a short program of our own choice to its end. Rejects when it fails, with its `stderr`. */
export async function runChild(file: string, args: readonly string[], options: ExecFileOptions): Promise<void> {
  passOnlyWhatIsNamed()
  await promisify(execFile)(file, args, options)
}
