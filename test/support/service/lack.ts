/** A program of the system that some tests need. */
export type SystemProgram =
  | 'bubblewrap'
  | 'socat'
  | 'chromium'
  | 'tmux'
  | 'gcc'
  | 'libc6-dev'
  | 'wrk'
  | 'jq'
  | 'curl'
  | 'prometheus'

/** The variable in which the runner of the tests names what this machine lacks. */
export const lackVariable = 'SWITCHYARD_TEST_LACKS'

/** Why a test that needs `program` cannot run here, for its `skip`; false where it can. */
export function lack(program: SystemProgram): string | false {
  const lacking = (process.env[lackVariable] ?? '').split(' ')
  return lacking.includes(program) && `needs ${program}, which is missing or does not work here`
}
