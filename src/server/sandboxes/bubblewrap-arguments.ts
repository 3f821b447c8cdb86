import {
  commandEnvironment,
  homeRoot,
  type NetworkMount,
  networkRoot,
  type ProgramFolders,
  proxyPort,
  proxySocket,
  type SandboxLimits,
  sandboxUser,
  socketRoot,
  workspaceRoot,
} from './sandbox.ts'

/** A system folder that is mounted read-only. */
export interface SystemFolder {
  readonly path: string
  /** The target when it is a symbolic link. */
  readonly link: string | undefined
}

export interface Recipe {
  /** The workspace folder on the host. */
  readonly folder: string
  readonly command: string
  /** How commands drop the rights of the server: by changing the user, or with a user namespace. */
  readonly identity: 'other-user' | 'user-namespace'
  readonly filter: Buffer | undefined
  readonly system: readonly SystemFolder[]
  /** True when a control group limits memory and processes, so that ulimits are not needed. */
  readonly isBounded: boolean
  readonly limits: SandboxLimits
  /** Absent for a command. A program has more folders, its own variables and a separate standard error. */
  readonly program?: ProgramParts | undefined
  /** HOME after the set-up on the host; absent: the workspace, or that of the program. */
  readonly home?: string | undefined
  /** Absent: the sandbox has only its own loopback. */
  readonly network?: NetworkMount | undefined
}

export interface ProgramParts {
  readonly folders: Pick<ProgramFolders, 'home' | 'sockets'>
  readonly env: Readonly<Record<string, string>>
  readonly readable: readonly string[]
}

/** Returns the contents that bubblewrap reads from descriptors 3 and up, in the order of `bubblewrapArguments`. */
export const bubblewrapFiles = ({ filter }: Pick<Recipe, 'filter'>): (string | Buffer)[] => [
  `root:x:0:0::/:/bin/false\nagent:x:${sandboxUser}:${sandboxUser}::${workspaceRoot}:/bin/bash\n`,
  `root:x:0:\nagent:x:${sandboxUser}:\n`,
  '127.0.0.1 localhost sandbox\n::1 localhost\n',
  ...(filter ? [filter] : []),
]

const firstDescriptor = 3

const environment = {
  ...commandEnvironment,
  PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
  SHELL: '/bin/bash',
}

/** Returns the PATH of the command. After a set-up it starts with folders of its home. */
function pathOf({ home, program }: Recipe): string {
  const path = program?.env['PATH'] ?? environment.PATH
  return home ? `${homeRoot}/.local/bin:${homeRoot}/bin:${path}` : path
}

/** Returns the arguments of bubblewrap for one command. Everything not listed is unshared. Source: Security, S35. */
export function bubblewrapArguments(recipe: Recipe): string[] {
  const { filter, folder, home, identity, limits, network, program } = recipe
  const files = bubblewrapFiles(recipe).length
  return [
    ...(identity === 'user-namespace' ? ['--unshare-user', ...numbers('--uid', '--gid')] : []),
    ...['--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'],
    // The shell is process 1: when it exits, the kernel kills all others before bubblewrap returns.
    ...['--die-with-parent', '--new-session', '--as-pid-1', '--clearenv', '--hostname', 'sandbox'],
    ...Object.entries({
      ...environment,
      ...network?.env,
      ...((home || program) && { HOME: homeRoot }),
      ...program?.env,
      // Process 1 has more rights than the command, which can write to the folders of its own PATH.
      PATH: environment.PATH,
    }).flatMap(([name, value]) => ['--setenv', name, value]),
    ...recipe.system.flatMap(({ path, link }) => (link ? ['--symlink', link, path] : ['--ro-bind', path, path])),
    ...['--perms', '0755', '--dir', '/etc'],
    ...['/etc/alternatives', '/etc/ld.so.cache', '/etc/ssl'].flatMap(path => ['--ro-bind-try', path, path]),
    ...['passwd', 'group', 'hosts'].flatMap((name, index) => [
      ...['--perms', '0444', '--ro-bind-data', String(firstDescriptor + index), `/etc/${name}`],
    ]),
    // bubblewrap leaves /proc/sys writable where the kernel permits it.
    ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', '--dev', '/dev'],
    ...scratch('/dev/shm', limits),
    ...['--remount-ro', '/dev'],
    ...scratch('/tmp', limits),
    ...mountsInside(recipe),
    ...['--bind', folder, workspaceRoot, '--remount-ro', '/'],
    ...['--cap-drop', 'ALL'],
    ...(filter ? ['--seccomp', String(firstDescriptor + files - 1)] : []),
    ...(identity === 'other-user' ? rightsToBecomeOther : []),
    // bash runs with --norc: with a socket as standard input it would read the startup file in HOME, which programs can
    // write.
    ...['--', 'bash', '--norc', '-c', firstProcess(recipe), 'bash', recipe.command, pathOf(recipe)],
  ]
}

function mountsInside({ home, network, program, system }: Recipe): string[] {
  const mounts = [
    ...(network ? [['--ro-bind', network.folder, networkRoot]] : []),
    ...(home && !program ? [['--bind', home, homeRoot]] : []),
    ...(program ? programMounts(program, system) : []),
  ]
  return mounts.flatMap(mount => [...foldersAbove(mount.at(-1) ?? '').flatMap(openToAll), ...mount])
}

const programMounts = ({ folders, readable }: ProgramParts, system: readonly SystemFolder[]): string[][] => [
  ['--bind', folders.home, homeRoot],
  ['--bind', folders.sockets, socketRoot],
  ...readable
    .filter(path => !system.some(folder => path === folder.path || path.startsWith(`${folder.path}/`)))
    .map(path => ['--ro-bind', path, path]),
]

/** Returns `/a` and `/a/b` for `/a/b/c`. */
const foldersAbove = (path: string): string[] =>
  path.split('/').flatMap((_, at, names) => (at > 1 ? [names.slice(0, at).join('/')] : []))

/** By default bubblewrap creates the folders above a mount for its own user only. */
const openToAll = (path: string) => ['--perms', '0755', '--dir', path]

const numbers = (...options: string[]) => options.flatMap(option => [option, String(sandboxUser)])

const scratch = (path: string, { scratchBytes }: SandboxLimits) => [
  ...['--perms', '1777', '--size', String(scratchBytes), '--tmpfs', path],
]

const rightsToBecomeOther = ['SETUID', 'SETGID', 'SETPCAP'].flatMap(name => ['--cap-add', `CAP_${name}`])

const becomeOther = [
  ...['setpriv', ...numbers('--reuid', '--regid'), '--clear-groups', '--inh-caps=-all', '--bounding-set=-all'],
].join(' ')

/**
 * Returns the script of process 1, which only waits for the command. It keeps the user of bubblewrap, since bubblewrap
 * may not send the signal of `--die-with-parent` to another user; the command cannot reach it. `ulimit` counts in KiB.
 */
function firstProcess(recipe: Recipe): string {
  const { identity, limits, isBounded, network, program } = recipe
  const rights = identity === 'other-user' ? becomeOther : ''
  const gate = firstDescriptor + bubblewrapFiles(recipe).length
  const bounds = ['-c 0', `-f ${limits.fileBytes / 1024}`]
  // The process limit applies to the user and so to all sandboxes together: it is only a fallback.
  if (!isBounded) bounds.push(`-u ${limits.processes}`, `-d ${limits.memoryBytes / 1024}`)
  const errors = program ? 4 : 3
  return [
    // Raising a limit that is already lower fails and is ignored.
    ...bounds.map(bound => `ulimit ${bound} 2>/dev/null`),
    // Only now does process 1 end with bubblewrap. A server that was killed earlier does not answer, and then the
    // command must not start, because it would never be stopped.
    `echo ready >&${gate}; read -r answer <&${gate} || exit 125; exec ${gate}>&-`,
    // Closes all other descriptors that bubblewrap inherited, such as those opened by a library. Takes 0.06 of 20 ms
    // per command.
    'cd /proc/self/fd && for fd in *; do ((fd < 3)) || exec {fd}>&-; done; cd /',
    // When memory is short the kernel must kill a tool, not the server or its database.
    '{ echo 500 > /proc/self/oom_score_adj; } 2>/dev/null',
    'exec 3>&1 4>&2 >/dev/null 2>&1',
    ...(network ? forwardToProxy(rights) : []),
    `${rights} bash --norc -c '${asCommandUser}' bash "$1" "$2" >&3 2>&${errors} 3>&- 4>&-`,
    'exit $?',
  ].join('\n')
}

/** Starts the forwarder to the proxy and waits until it listens. It ends with process 1. */
const forwardToProxy = (rights: string): string[] => [
  `${rights} /usr/bin/socat ${forwarder} </dev/null 3>&- 4>&- &`,
  `tries=0; until { exec 9<>/dev/tcp/127.0.0.1/${proxyPort}; } 2>/dev/null; do`,
  `  tries=$((tries + 1)); ((tries < ${maxProxyTries})) || { echo "socat does not listen" >&4; exit 126; }; sleep 0.01`,
  'done; exec 9>&-',
]

const maxProxyTries = 500
const maxForwarders = 128
const forwarder = [
  `TCP-LISTEN:${proxyPort},bind=127.0.0.1,reuseaddr,fork,max-children=${maxForwarders}`,
  `UNIX-CONNECT:${networkRoot}/${proxySocket}`,
].join(' ')

/** Only the command's user may enter the workspace. */
const asCommandUser = `cd ${workspaceRoot} || exit 125; PATH=$2; exec "$BASH" --norc -c "$1"`
