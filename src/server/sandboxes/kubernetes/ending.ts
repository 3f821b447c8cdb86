import type { RunningExec } from './exec.ts'
import type { ExecStatus } from './kubernetes-error.ts'
import { terminateLine } from './scripts.ts'
import type { AcquiredSlot } from './slots.ts'

const abandonMs = 10_000

interface Guarded {
  readonly slot: AcquiredSlot
  readonly exec: RunningExec
  /** Ends the command when its standard input closes. It may be `exec` itself. */
  readonly guard: RunningExec
}

/** Returns how a command is ended: through its guard, and through a second connection if it has ended the guard. */
export const waysToEnd = ({ slot, exec, guard }: Guarded) => ({
  terminate() {
    void guard.send(terminateLine)
    return true
  },
  kill() {
    guard.closeInput()
    void slot.clean()
    const late = setTimeout(exec.abandon, abandonMs)
    void exec.ended.then(() => clearTimeout(late))
  },
})

interface Ending {
  /** True when the sandbox can be used again; otherwise it was deleted. */
  readonly isClean: boolean
  /** True when no process is left. */
  readonly isConfirmed: boolean
  /** Why the sandbox ended before the command did; undefined when it did not. */
  readonly lost: string | undefined
}

/** Ends what a command has left, and deletes its sandbox unless that is clean. */
export async function endOf(slot: AcquiredSlot, status: ExecStatus): Promise<Ending> {
  const lost = status.kind === 'lost' ? status.reason : undefined
  const cleaning = await slot.clean()
  if (cleaning === 'clean') return { isClean: true, isConfirmed: true, lost }
  // A container that ends kills its commands, and their exit codes do not reveal that.
  const reason = cleaning === 'unreachable' ? await slot.whyEnded() : undefined
  return { isClean: false, isConfirmed: await slot.destroy(), lost: reason ?? lost }
}
