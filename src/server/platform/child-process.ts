import { type ChildProcess, type ExecFileOptions, execFile, type SpawnOptions, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { AppError } from './errors.ts'
import { closeInheritedDescriptors } from './inherited-descriptors.ts'

/** Module state, because descriptors belong to the whole process. */
let isClean = false

/** Runs once, before the first program starts: later descriptors are always opened with close-on-exec. */
function closeUnmarkedDescriptors(): void {
  if (isClean) return
  closeInheritedDescriptors()
  isClean = true
}

/**
 * Starts a program; with `runChild` the only place where this service does. The program gets only the descriptors of
 * `stdio`. Its `error` event and those of its pipes always have a listener, so that a failure to start, signal or write
 * to it does not end this process; callers add listeners as needed. Throws `unavailable` if there are no descriptors
 * for its pipes.
 */
export function startChild(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  closeUnmarkedDescriptors()
  const child = spawn(file, args, options)
  child.on('error', () => {})
  // At the limit of open files Node returns a child without pipes and reports why one tick later.
  if ((child.stdio as unknown) === undefined)
    throw new AppError('unavailable', 'cannot start a process: limit of open files reached; retry later')
  // The exit of the program reports a broken pipe.
  for (const pipe of child.stdio) pipe?.on('error', () => {})
  return child
}

/** Runs a short program until it exits. Rejects with its `stderr` if it fails. */
export async function runChild(file: string, args: readonly string[], options: ExecFileOptions): Promise<void> {
  closeUnmarkedDescriptors()
  await promisify(execFile)(file, args, options)
}
