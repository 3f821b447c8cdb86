import type { SpawnOptions } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { runChild } from '../../platform/child-process.ts'
import { type Account, canEnter } from './account.ts'
import { type Build, copyOf, hasLinks } from './binaries.ts'
import { cannotStart, explain } from './explain.ts'
import { withPasswordFile } from './password-file.ts'

/** How PostgreSQL programs are started on this machine. */
export interface Confinement {
  readonly build: Build
  /** User to run as; undefined for our own. */
  readonly account: Account | undefined
  /** Path of `setpriv`; undefined if there is no usable one. */
  readonly setpriv: string | undefined
  /** The only root capability that the server keeps, if its folders are below one that only root may enter. */
  readonly capability: string | undefined
  /** Replaces `/etc/passwd` for a program whose account is not listed there. */
  readonly passwordFile?: string | undefined
}

interface Command {
  readonly file: string
  readonly args: string[]
  readonly options: Pick<SpawnOptions, 'uid' | 'gid' | 'cwd' | 'env'>
}

/** Returns the command that runs `program` of the build as the right user and stops it when this process exits. */
export function commandOf(confinement: Confinement, program: string, args: string[]): Command {
  const command = confinedCommand(confinement, program, args)
  const { passwordFile } = confinement
  if (passwordFile === undefined) return command
  return { ...command, ...withPasswordFile(passwordFile, command) }
}

function confinedCommand(
  { build, account, setpriv, capability }: Confinement,
  program: string,
  args: string[],
): Command {
  const file = join(build.folder, 'bin', program)
  // Without our environment: it contains secrets, and PG* variables would affect the server.
  const options = { cwd: '/', env: { PATH: '/usr/local/bin:/usr/bin:/bin' } }
  if (!setpriv) {
    return { file, args, options: account ? { ...options, uid: account.uid, gid: account.gid } : options }
  }
  // The kernel sends SIGINT, a fast clean shutdown, when this process is killed.
  const flags = ['--pdeathsig', 'INT', '--no-new-privs']
  if (account) flags.push(`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups')
  if (capability) {
    const only = `-all,+${capability}`
    flags.push(
      '--securebits=+no_setuid_fixup',
      `--inh-caps=${only}`,
      `--ambient-caps=${only}`,
      `--bounding-set=${only}`,
    )
  }
  return { file: setpriv, args: [...flags, '--', file, ...args], options }
}

interface Wish {
  readonly dataDir: string
  readonly build: Build
  readonly account: Account | undefined
}

/**
 * Returns the first way to start the programs that works on this machine. Throws `unavailable` with the reason if none
 * works.
 */
export async function findConfinement({ dataDir, build, account }: Wish): Promise<Confinement> {
  const setpriv = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/local/bin/setpriv'].find(path => existsSync(path))
  const isClosed = account !== undefined && !canEnter(account, realpathSync(dataDir))
  const capability = isClosed ? capabilityToEnter(dataDir, setpriv) : undefined
  const reachable = isClosed || !account || canRun(account, build)
  const wanted = { build: reachable && hasLinks(build) ? build : copyOf(build, dataDir), account, capability }
  const ways: Confinement[] = setpriv ? [{ ...wanted, setpriv }] : []
  if (!isClosed) ways.push({ ...wanted, setpriv: undefined })
  let failure: unknown
  for (const way of ways) {
    try {
      await tryOut(way)
      return way
    } catch (error) {
      failure = error
    }
  }
  throw unusable(wanted, dataDir, failure)
}

function canRun(account: Account, build: Build): boolean {
  const program = realpathSync(join(build.folder, 'bin', 'postgres'))
  return canEnter(account, program)
}

/** Returns a capability that allows entering closed folders; containers usually leave only the second one. */
function capabilityToEnter(dataDir: string, setpriv: string | undefined): string {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : ''
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`)
  if (setpriv && effective & 4n) return 'dac_read_search'
  if (setpriv && effective & 2n) return 'dac_override'
  throw closed(dataDir)
}

function closed(dataDir: string, cause?: unknown): Error {
  const problem = `data folder ${dataDir} is below a folder that only root may enter, and PostgreSQL does not run as root`
  const way = 'set SWITCHYARD_DATA_DIR to a folder such as /var/lib/switchyard, or start as another user'
  return cannotStart(problem, way, cause)
}

async function tryOut(way: Confinement): Promise<void> {
  const { file, args, options } = commandOf(way, 'postgres', ['--version'])
  await runChild(file, args, options)
}

function unusable({ build, capability }: Pick<Confinement, 'build' | 'capability'>, dataDir: string, failure: unknown) {
  const { code, stderr = '' } = failure as { code?: unknown; stderr?: string }
  const file = join(build.folder, 'bin', 'postgres')
  // The file exists but its loader does not: a system with another C library, such as Alpine.
  if (existsSync(file) && (code === 'ENOENT' || /No such file or directory/.test(stderr))) {
    const problem = 'embedded PostgreSQL requires glibc, which this system does not have (Alpine has musl)'
    return cannotStart(problem, 'use an image with glibc, such as Debian, or set DATABASE_URL', failure)
  }
  if (capability) return closed(dataDir, failure)
  return explain({ doing: `running ${file}`, dataDir, output: stderr || String(failure) })
}
