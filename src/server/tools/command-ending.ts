import type { ExecResult } from '../sandboxes/sandbox.ts'

const killedExit = 137

type Ending = Pick<ExecResult, 'outcome' | 'exitCode' | 'deletedFiles'>

/** Returns why a command failed; empty when it succeeded. */
export function endingOf({ outcome, exitCode, deletedFiles = 0 }: Ending): string {
  switch (outcome) {
    case 'exited':
      if (exitCode === 0) return ''
      return `exit code ${exitCode}${exitCode === killedExit ? ': killed, possibly out of memory' : ''}`
    case 'timed_out':
      return 'stopped: timeout reached'
    case 'cancelled':
      return 'cancelled'
    case 'output_limit':
      return 'stopped: output limit exceeded'
    case 'disk_limit':
      return deletedFiles === 0
        ? 'stopped: disk is nearly full'
        : `stopped: disk is nearly full; ${deletedFiles} files of this command were deleted`
  }
}
