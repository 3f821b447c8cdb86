import { shellQuoted } from '../../platform/shell-quoted.ts'

/** A program with the ports and sockets to set up before it. */
export interface StartScript {
  readonly words: readonly string[]
  /** The folder of sockets, as the program sees it. */
  readonly sockets: string
  /** Port on 127.0.0.1 where the program reaches the gateway. */
  readonly gatewayPort: number
  /** Port on 127.0.0.1 that the program listens on; undefined when it does not listen. */
  readonly port: number | undefined
}

/** Names in the folder of sockets. */
export const gatewaySocket = 'gateway.sock'
export const programSocket = 'program.sock'

/**
 * Returns a shell script that forwards a port to the gateway socket and a socket to the program's port, then runs it.
 */
export function startScript({ words, sockets, gatewayPort, port }: StartScript): string {
  const own = `TCP-LISTEN:${gatewayPort},bind=127.0.0.1,reuseaddr,fork UNIX-CONNECT:${sockets}/${gatewaySocket}`
  const reached = `UNIX-LISTEN:${sockets}/${programSocket},unlink-early,fork TCP-CONNECT:127.0.0.1:${port}`
  return [
    ...[own, ...(port === undefined ? [] : [reached])].map(ends => `socat ${ends} </dev/null >/dev/null 2>&1 &`),
    `tries=0; until { exec 9<>/dev/tcp/127.0.0.1/${gatewayPort}; } 2>/dev/null; do`,
    '  tries=$((tries + 1)); [ $tries -lt 200 ] || { echo "socat does not listen" >&2; exit 126; }; sleep 0.02',
    'done; exec 9>&-',
    execCommand(words),
  ].join('\n')
}

/** Returns a shell command that replaces the shell with the program. */
export const execCommand = (words: readonly string[]): string => `exec ${words.map(shellQuoted).join(' ')}`
