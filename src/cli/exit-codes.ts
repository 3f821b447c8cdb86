/** Exit codes of all commands; programs may rely on them. */
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

/** Section of `--help` that explains the exit codes. */
export const exitCodeHelp = `
Exit codes:
  0    success
  1    failed: the run, check or start did not succeed
  2    invalid command line, or the service rejected the request as invalid (400, 413, 422)
  3    service is unreachable
  4    access denied: the key is missing, invalid or lacks permission (401, 403)
  5    not found (404)
  6    blocked: conflict with the current state (409), or a tool call waits for approval
  7    limit reached: budget, rate or load (402, 429, 529)
  130  interrupted by Ctrl-C`
