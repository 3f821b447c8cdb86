import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { startChild } from '../../platform/child-process.ts'
import type { Log } from '../../platform/log.ts'
import { pause } from '../../platform/timers.ts'
import { type Confinement, commandOf } from './confinement.ts'
import { type Folders, port } from './folders.ts'

/** PostgreSQL server started by this process. */
export interface ServerProcess {
  readonly hasExited: boolean
  /** Returns its last output lines. */
  output(): string
  /** Stops it cleanly, and by force after a timeout. */
  stop(): Promise<void>
}

const maxLines = 20
const cleanStopMs = 10_000
const forcedStopMs = 3_000

interface Options {
  readonly confinement: Confinement
  readonly folders: Folders
  readonly log: Log
  /** Value of postgresql.conf if undefined. */
  readonly connections: number | undefined
}

/** Starts the server, which needs some time until it accepts connections or exits. */
export function startServer({ confinement, folders, log, connections }: Options): ServerProcess {
  const { file, args, options } = commandOf(confinement, 'postgres', serverArgs(folders, connections))
  // A separate process group, so that Ctrl-C does not stop the database before this process.
  const child = startChild(file, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'], detached: true })
  const lines: string[] = []
  const keep = (line: string) => {
    lines.push(line)
    if (lines.length > maxLines) lines.shift()
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
    // Statements and error details contain user data.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    ...(connections !== undefined && { max_connections: connections }),
  }
  return ['-D', cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/** PostgreSQL signals: INT is a fast clean shutdown, QUIT stops at once with recovery at the next start. */
async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  const steps = [
    ['SIGINT', cleanStopMs],
    ['SIGQUIT', forcedStopMs],
    ['SIGKILL', forcedStopMs],
  ] as const
  for (const [signal, timeoutMs] of steps) {
    if (hasExited(child)) break
    child.kill(signal)
    const timeout = new AbortController()
    await Promise.race([ended, pause(timeoutMs, timeout.signal)])
    timeout.abort()
  }
  if (child.pid !== undefined && hasExited(child)) await ended
}
