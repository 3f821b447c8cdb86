/** What the exit codes of every command mean; programs may rely on them. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  refused: 4,
  notFound: 5,
  blocked: 6,
  limited: 7,
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The part of `--help` that explains the exit codes. */
export const exitCodeHelp = `
Exit codes:
  0    done
  1    failed: the run, the check or the start did not succeed
  2    the command was used wrongly, or the service found the request invalid
  3    the service cannot be reached
  4    refused: the key is missing, wrong or not allowed to do this (401, 403)
  5    not found (404)
  6    blocked: the state does not allow it (409), or a person must approve a tool call first
  7    a limit was reached: budget, rate or load (402, 429, 529)
  130  stopped by Ctrl-C`
