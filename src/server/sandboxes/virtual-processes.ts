import type { ChildProcess } from 'node:child_process'
import { boundedOutput } from './bounded-output.ts'
import { startWithInput } from './limited-process.ts'

/** What a process says of a command; a process that ended before has no `exitCode` of the command. */
export type Answer =
  | { readonly kind: 'answered'; readonly exitCode: number }
  | { readonly kind: 'ended'; readonly exitCode: number | null; readonly errorOutput: string }

/** A process of the simulated shell. */
export interface ShellProcess {
  readonly child: ChildProcess
  /** Runs one command at a time; `onOutput` gets its output in parts. */
  run(command: string, onOutput: (part: Buffer) => void): Promise<Answer>
  /** False when it must not run another command. */
  isReusable(): boolean
}

const errorOutputBytes = 4096

/** Starts a process of the simulated shell. */
export function startShell(file: string, args: readonly string[]): ShellProcess {
  const child = startWithInput({ file, args, env: {}, isInputOpen: true })
  const errors = boundedOutput(errorOutputBytes)
  let reader: ReturnType<typeof answerReader> | undefined
  let isReusable = true
  let settle: ((answer: Answer) => void) | undefined
  let fail: ((error: Error) => void) | undefined
  child.stderr?.on('data', (chunk: Buffer) => errors.add(chunk))
  child.stdout?.on('data', (chunk: Buffer) => {
    const head = reader?.add(chunk)
    if (!head) return
    isReusable = head.isReusable
    settle?.({ kind: 'answered', exitCode: head.exitCode })
  })
  child.once('error', error => {
    isReusable = false
    fail?.(error)
  })
  child.once('close', exitCode => {
    isReusable = false
    settle?.({ kind: 'ended', exitCode, errorOutput: errors.text() })
  })
  return {
    child,
    run: (command, onOutput) =>
      new Promise((resolve, reject) => {
        ;[settle, fail, reader] = [resolve, reject, answerReader(onOutput)]
        child.stdin?.write(`${JSON.stringify({ command })}\n`)
      }),
    isReusable: () => isReusable,
  }
}

interface Head {
  readonly exitCode: number
  readonly bytes: number
  readonly isReusable: boolean
}

/** Reads one answer; `add` returns its first line once all of its output has come. */
function answerReader(onOutput: (part: Buffer) => void) {
  let start = Buffer.alloc(0)
  let head: Head | undefined
  let missing = 0
  return {
    add(chunk: Buffer): Head | undefined {
      let rest = chunk
      if (!head) {
        start = Buffer.concat([start, chunk])
        const end = start.indexOf('\n')
        if (end === -1) return undefined
        head = JSON.parse(start.toString('utf8', 0, end)) as Head
        missing = head.bytes
        rest = start.subarray(end + 1)
      }
      if (rest.length > 0) onOutput(rest)
      missing -= rest.length
      return missing <= 0 ? head : undefined
    },
  }
}

/** Idle processes are few, and end soon: each takes about 60 MiB. */
const maxIdle = 4
const idleMs = 10_000

/** Keeps idle processes, because a start takes much longer than a command. */
export function idleShells() {
  const idle: { readonly folder: string; readonly shell: ShellProcess; readonly timer: NodeJS.Timeout }[] = []

  function drop(shell: ShellProcess): void {
    const at = idle.findIndex(each => each.shell === shell)
    if (at !== -1) idle.splice(at, 1)
    shell.child.kill('SIGKILL')
  }

  return {
    /** Returns an idle process of a workspace. */
    take(folder: string): ShellProcess | undefined {
      const at = idle.findIndex(each => each.folder === folder && each.shell.isReusable())
      const [found] = at === -1 ? [] : idle.splice(at, 1)
      if (!found) return undefined
      clearTimeout(found.timer)
      holdProcess(found.shell.child, true)
      return found.shell
    },
    /** Keeps a process, or ends it and the one that has been idle the longest. */
    keep(folder: string, shell: ShellProcess): void {
      if (!shell.isReusable()) {
        shell.child.kill('SIGKILL')
        return
      }
      const [oldest] = idle
      if (oldest && idle.length >= maxIdle) {
        clearTimeout(oldest.timer)
        drop(oldest.shell)
      }
      holdProcess(shell.child, false)
      idle.push({ folder, shell, timer: setTimeout(() => drop(shell), idleMs).unref() })
    },
  }
}

/** Sets whether a process keeps this one alive. */
function holdProcess(child: ChildProcess, isHeld: boolean): void {
  const pipes = child.stdio as readonly { ref?: () => void; unref?: () => void }[]
  for (const each of [child, ...pipes]) {
    if (isHeld) each?.ref?.()
    else each?.unref?.()
  }
}
