import { AppError } from '../../platform/errors.ts'

/** The refusal to start the embedded database: what is wrong, and what the operator can do. */
export const cannotStart = (problem: string, way: string, cause?: unknown): AppError =>
  new AppError('unavailable', `${problem}. To go on: ${way}`, { cause })

interface Failure {
  /** What was done, such as `starting the database in /var/lib/switchyard/postgres`. */
  readonly doing: string
  readonly dataDir: string
  /** The last lines that the program wrote. */
  readonly output: string
}

const otherDatabase = 'or install PostgreSQL 15 or newer and set DATABASE_URL'
const otherFolder = 'set SWITCHYARD_DATA_DIR to a folder that can be written'

/** What the programs of PostgreSQL and the loader say, and what helps against it. */
const known: readonly (readonly [RegExp, string, string])[] = [
  [/No space left on device|Disk quota exceeded/, 'the disk is full', 'free some space'],
  [/GLIBC_[\d.]+'? not found/, 'the C library of this system is too old', `use a newer system, ${otherDatabase}`],
  [
    /could not look up effective user ID|no such user/i,
    'this user has no entry in /etc/passwd',
    `add one, ${otherDatabase}`,
  ],
  [/Read-only file system/, 'the disk is read-only', otherFolder],
  [/Operation not permitted|Permission denied|has wrong ownership/, 'a right is missing', otherFolder],
  [
    /could not locate a valid checkpoint|invalid (primary )?checkpoint record|PANIC/,
    'its files are damaged',
    'restore a backup',
  ],
]

/** The refusal for a program of PostgreSQL that failed, with its own words at the end. */
export function explain({ doing, dataDir, output }: Failure): AppError {
  const [, problem, way] = known.find(([pattern]) => pattern.test(output)) ?? [
    undefined,
    'the program gave up',
    `read its words below, ${otherDatabase}`,
  ]
  return cannotStart(`${doing} failed: ${problem} (data folder ${dataDir})`, `${way}\n${lastWords(output)}`)
}

/** The lines that say what went wrong, without the progress before them. */
function lastWords(output: string): string {
  const lines = output.trim().split('\n')
  const telling = lines.filter(line => /FATAL|PANIC|ERROR|error|not found|cannot|could not/.test(line))
  return (telling.length > 0 ? telling : lines).slice(-5).join('\n')
}

/** True for a failure that passes by itself: the last server of this folder has not quite ended. */
export const isPassing = (output: string): boolean =>
  /lock file ".*" already exists|pre-existing shared memory block|is another postmaster|still in use|shutdown request/.test(
    output,
  )
