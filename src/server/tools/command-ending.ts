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
    case 'disk_limit': {
      const reason = exitCode === null ? 'stopped: disk is nearly full' : 'disk is nearly full'
      return deletedFiles === 0 ? reason : `${reason}; ${deletedFiles} files of this command were deleted`
    }
  }
}
