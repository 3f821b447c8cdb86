import { AppError } from '../../platform/errors.ts'

/** Returns the error of a failed start of the embedded database: the problem and the next step. */
export const cannotStart = (problem: string, way: string, cause?: unknown): AppError =>
  new AppError('unavailable', `${problem}; ${way}`, { cause })

interface Failure {
  /** The failed action, such as `starting the database in /var/lib/switchyard/postgres`. */
  readonly doing: string
  readonly dataDir: string
  /** Last lines of the program's output. */
  readonly output: string
}

const otherDatabase = 'or install PostgreSQL 15 or newer and set DATABASE_URL'
const otherFolder = 'set SWITCHYARD_DATA_DIR to a folder that can be written'

/** Known output of PostgreSQL programs and the loader, with problem and next step. */
const known: readonly (readonly [RegExp, string, string])[] = [
  [/No space left on device|Disk quota exceeded/, 'the disk is full', 'free some space'],
  [/GLIBC_[\d.]+'? not found/, 'the C library of this system is too old', `use a newer system, ${otherDatabase}`],
  [
    /could not look up effective user ID|no such user/i,
    'this user has no entry in /etc/passwd',
    `add one, ${otherDatabase}`,
  ],
  [/Read-only file system/, 'the disk is read-only', otherFolder],
  [/Operation not permitted|Permission denied|has wrong ownership/, 'permission denied', otherFolder],
  [
    /could not locate a valid checkpoint|invalid (primary )?checkpoint record|PANIC/,
    'its files are damaged',
    'restore a backup',
  ],
]

/** Returns the error for a failed PostgreSQL program, followed by its output. */
export function explain({ doing, dataDir, output }: Failure): AppError {
  const [, problem, way] = known.find(([pattern]) => pattern.test(output)) ?? [
    undefined,
    'unknown cause',
    `read its output below, ${otherDatabase}`,
  ]
  return cannotStart(`${doing} failed: ${problem} (data folder ${dataDir})`, `${way}\n${errorLines(output)}`)
}

/** Returns the error lines of the output, without progress messages. */
function errorLines(output: string): string {
  const lines = output.trim().split('\n')
  const relevant = lines.filter(line => /FATAL|PANIC|ERROR|error|not found|cannot|could not/.test(line))
  return (relevant.length > 0 ? relevant : lines).slice(-5).join('\n')
}

/** True for a temporary failure: the previous server of the folder is still shutting down. */
export const isTransient = (output: string): boolean =>
  /lock file ".*" already exists|pre-existing shared memory block|is another postmaster|still in use|shutdown request/.test(
    output,
  )
