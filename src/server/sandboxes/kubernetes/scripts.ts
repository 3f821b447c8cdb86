import { shellQuoted } from '../../platform/shell-quoted.ts'
import { homeRoot, type SandboxLimits, workspaceRoot } from '../sandbox.ts'

/**
 * Process 1 of a sandbox. The kernel shields it from signals of the processes inside, and `wait` reaps what they leave
 * behind: a shell without a child would not.
 */
export const processOne = "trap 'exit 0' TERM INT; while :; do sleep 2147483 & wait; done"

/** Ends the processes of a command when its standard input says so or ends, as it does when the server is killed. */
const guard = [
  "trap '' TERM HUP INT",
  'while read -r word; do [ "$word" = term ] && kill -TERM -1; done',
  'kill -KILL -1',
].join('; ')

/** Sent to a guard: sends SIGTERM to all processes of the command. */
export const terminateLine = Buffer.from('term\n')

/**
 * The process limit counts all processes of the user on a node, in all sandboxes, so that it is only a stop far above the
 * limit of one command.
 */
const processFactor = 8

/**
 * bash where the image has it, because models write for bash. Without --norc it would read the startup file in HOME, which
 * programs can write, when its standard input is a socket.
 */
const chooseShell = 'if command -v bash >/dev/null; then set -- bash --norc; else set -- /bin/sh; fi'

const bounds = ({ fileBytes, processes }: SandboxLimits): string[] => [
  'ulimit -c 0 2>/dev/null',
  // In blocks of 512 bytes, as POSIX says; bash counts in KiB unless it is called sh.
  `ulimit -f ${fileBytes / 512} 2>/dev/null`,
  `ulimit -u ${processes * processFactor} 2>/dev/null || ulimit -p ${processes * processFactor} 2>/dev/null`,
]

/** Reads the variables and the command from standard input: arguments would appear in the audit log of the cluster. */
const readInputs = [
  'read -r variables && read -r command || exit 125',
  'eval "$(printf %s "$variables" | base64 -d)" || exit 125',
  'command=$(printf %s "$command" | base64 -d) || exit 125',
]

/** Reads the lines of `inputLines`, then runs one command and ends all its processes. */
export const commandScript = (limits: SandboxLimits): string =>
  [
    'trap : TERM HUP INT',
    ...readInputs,
    'exec 3<&0 </dev/null',
    `{ ${guard}; } <&3 >/dev/null 2>&1 &`,
    'exec 3<&-',
    `cd ${workspaceRoot} || exit 125`,
    ...bounds(limits),
    chooseShell,
    // This shell reports the signal that killed the command on its own standard error, hence the subshell.
    'exec 4>&1 2>/dev/null',
    '(exec "$@" -c "$command" >&4 2>&1 4>&-)',
    'code=$?; kill -KILL -1; exit $code',
  ].join('\n')

/** Like `commandScript` for a program, which has the rest of the standard input; `guardScript` guards it. */
export const programScript = (limits: SandboxLimits, readable: readonly string[]): string =>
  [
    'trap : TERM HUP INT',
    ...readInputs,
    ...readable.map(path => `[ -e ${shellQuoted(path)} ] || { echo ${shellQuoted(missing(path))} >&2; exit 127; }`),
    `export HOME=${homeRoot}; cd ${workspaceRoot} || exit 125`,
    ...bounds(limits),
    chooseShell,
    'exec 4>&2 2>/dev/null',
    '(exec "$@" -c "$command" 2>&4 4>&-)',
    'code=$?; kill -KILL -1; exit $code',
  ].join('\n')

const missing = (path: string) => `${path} does not exist in the image of the sandbox (setting sandbox.image)`

/** Ends all processes when its standard input ends. */
export const guardScript = guard

/** Returns the standard input with which a command or program starts. */
export function inputLines(command: string, env: Readonly<Record<string, string>>): Buffer {
  const variables = Object.entries(env).map(([name, value]) => `export ${name}=${shellQuoted(value)}\n`)
  return Buffer.from(`${base64(variables.join(''))}\n${base64(command)}\n`)
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Exit code of `cleanScript` when something is left. Others come from a container that is ending. */
export const dirtyCode = 90

/**
 * Kills every process except process 1 and empties the scratch folders; exits with 0 once that is so. The kernel sends a
 * signal for "all processes" in one step, so that no fork escapes it. Afterwards only process 1, its `sleep` and this shell
 * may be left.
 */
// biome-ignore-start lint/suspicious/noTemplateCurlyInString: expansions of the shell
export const cleanScript = [
  'tries=0',
  'while :; do',
  '  kill -KILL -1; left=0',
  '  for folder in /proc/[0-9]*; do',
  '    pid=${folder#/proc/}; [ "$pid" = 1 ] || [ "$pid" = $$ ] && continue',
  '    { read -r stat < "$folder/stat"; } 2>/dev/null || continue',
  '    case "${stat##*) }" in Z*|X*) ;; *) left=$((left + 1)) ;; esac',
  '  done',
  '  [ $left -le 1 ] && break',
  '  tries=$((tries + 1)); [ $tries -lt 50 ] || exit DIRTY',
  '  sleep 0.05',
  'done',
  'find /tmp /dev/shm -mindepth 1 -delete 2>/dev/null || exit DIRTY',
]
  .join('\n')
  .replaceAll('DIRTY', String(dirtyCode))
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: expansions of the shell
