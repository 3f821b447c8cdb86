import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { startChild } from '../../platform/child-process.ts'
import type { Log } from '../../platform/log.ts'
import { pause } from '../../platform/timers.ts'
import { type Confinement, commandOf } from './confinement.ts'
import { type Folders, port } from './folders.ts'

/** A PostgreSQL server that we started. */
export interface ServerProcess {
  readonly hasExited: boolean
  /** The last lines that it wrote. */
  output(): string
  /** Ends it: cleanly, and by force when that takes too long. */
  stop(): Promise<void>
}

const keptLines = 20
const cleanStopMs = 10_000
const forcedStopMs = 3_000

interface Options {
  readonly confinement: Confinement
  readonly folders: Folders
  readonly log: Log
  /** Those of postgresql.conf when undefined. */
  readonly connections: number | undefined
}

/** Starts the server; it serves some moments later, or has exited then. */
export function startServer({ confinement, folders, log, connections }: Options): ServerProcess {
  const { file, args, options } = commandOf(confinement, 'postgres', serverArgs(folders, connections))
  // A group of its own: the terminal's Ctrl-C is for us, who need the database to end in order.
  const child = startChild(file, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'], detached: true })
  const lines: string[] = []
  const keep = (line: string) => {
    lines.push(line)
    if (lines.length > keptLines) lines.shift()
    if (line.includes('PANIC:')) log.error({ line }, 'embedded database')
    else log.debug({ line }, 'embedded database')
  }
  if (child.stderr) createInterface(child.stderr).on('line', keep)
  child.once('error', error => lines.push(String(error)))
  const ended = new Promise<void>(resolve => {
    child.once('close', resolve)
  })
  const endWithUs = () => void child.kill('SIGINT')
  process.once('exit', endWithUs)
  void ended.then(() => process.off('exit', endWithUs))
  return {
    get hasExited() {
      return hasExited(child)
    },
    output: () => lines.join('\n'),
    stop: () => stop(child, ended),
  }
}

const hasExited = (child: ChildProcess) =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null

function serverArgs({ cluster, access, socket }: Folders, connections: number | undefined): string[] {
  const settings = {
    listen_addresses: '',
    port,
    unix_socket_directories: `"${socket.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    hba_file: `${access}/pg_hba.conf`,
    ident_file: `${access}/pg_ident.conf`,
    logging_collector: 'off',
    log_destination: 'stderr',
    log_line_prefix: '',
    log_checkpoints: 'off',
    // Statements and the details of errors hold what users wrote.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    ...(connections !== undefined && { max_connections: connections }),
  }
  return ['-D', cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/** Signals of PostgreSQL: INT ends the connections and saves, QUIT stops at once and recovers at the next start. */
async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  const steps = [
    ['SIGINT', cleanStopMs],
    ['SIGQUIT', forcedStopMs],
    ['SIGKILL', forcedStopMs],
  ] as const
  for (const [signal, patienceMs] of steps) {
    if (hasExited(child)) break
    child.kill(signal)
    const enough = new AbortController()
    await Promise.race([ended, pause(patienceMs, enough.signal)])
    enough.abort()
  }
  if (child.pid !== undefined && hasExited(child)) await ended
}
