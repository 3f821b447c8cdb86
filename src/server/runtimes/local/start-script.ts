/** Where a program finds its gateway, and what becomes it. */
export interface StartScript {
  readonly words: readonly string[]
  /** The folder of sockets, as the program sees it. */
  readonly sockets: string
  /** At 127.0.0.1, where the program finds our gateway. */
  readonly gatewayPort: number
  /** The port at 127.0.0.1 that the program listens on; undefined for one that does not. */
  readonly port: number | undefined
}

/** Names in the folder of sockets. */
export const gatewaySocket = 'gateway.sock'
export const programSocket = 'program.sock'

/** A shell command that leads a port to our socket, one of our sockets to the program's port, and becomes the program. */
export function startScript({ words, sockets, gatewayPort, port }: StartScript): string {
  const own = `TCP-LISTEN:${gatewayPort},bind=127.0.0.1,reuseaddr,fork UNIX-CONNECT:${sockets}/${gatewaySocket}`
  const reached = `UNIX-LISTEN:${sockets}/${programSocket},unlink-early,fork TCP-CONNECT:127.0.0.1:${port}`
  return [
    ...[own, ...(port === undefined ? [] : [reached])].map(ends => `socat ${ends} </dev/null >/dev/null 2>&1 &`),
    `tries=0; until { exec 9<>/dev/tcp/127.0.0.1/${gatewayPort}; } 2>/dev/null; do`,
    '  tries=$((tries + 1)); [ $tries -lt 200 ] || { echo "socat does not listen" >&2; exit 126; }; sleep 0.02',
    'done; exec 9>&-',
    becoming(words),
  ].join('\n')
}

/** A shell command that becomes the program. */
export const becoming = (words: readonly string[]): string => `exec ${words.map(quoted).join(' ')}`

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`
