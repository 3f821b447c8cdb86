import { homeRoot, type ProgramFolders, type SandboxLimits, socketRoot, workspaceRoot } from './sandbox.ts'

/** The user inside. When the server is root it is also the user outside: root inside could change kernel settings. */
export const sandboxUser = 65_533

/** A folder of the system that is seen inside, read only. */
export interface SystemFolder {
  readonly path: string
  /** The target, when it is a symbolic link. */
  readonly link: string | undefined
}

export interface Recipe {
  /** The workspace folder outside. */
  readonly folder: string
  readonly command: string
  /** How the commands get rid of the server's rights: by becoming another user, or by a user namespace. */
  readonly identity: 'other-user' | 'user-namespace'
  readonly filter: Buffer | undefined
  readonly system: readonly SystemFolder[]
  /** True when a control group bounds memory and processes, so that the limits of a single process and user are not needed. */
  readonly isBounded: boolean
  readonly limits: SandboxLimits
  /** Absent for a command; a program has more folders, variables of its own, and a separate standard error. */
  readonly program?: ProgramParts | undefined
}

export interface ProgramParts {
  readonly folders: Pick<ProgramFolders, 'home' | 'sockets'>
  readonly env: Readonly<Record<string, string>>
  readonly readable: readonly string[]
}

/** What bubblewrap reads from descriptors 3 and up, in the order that `bubblewrapArguments` counts on. */
export const bubblewrapFiles = ({ filter }: Pick<Recipe, 'filter'>): (string | Buffer)[] => [
  `root:x:0:0::/:/bin/false\nagent:x:${sandboxUser}:${sandboxUser}::${workspaceRoot}:/bin/bash\n`,
  `root:x:0:\nagent:x:${sandboxUser}:\n`,
  '127.0.0.1 localhost sandbox\n::1 localhost\n',
  ...(filter ? [filter] : []),
]

const firstDescriptor = 3

const environment = {
  PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
  HOME: workspaceRoot,
  USER: 'agent',
  LOGNAME: 'agent',
  SHELL: '/bin/bash',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  TMPDIR: '/tmp',
}

/** The arguments of bubblewrap for one command. Nothing is shared but what is named here: Security, S35. */
export function bubblewrapArguments(recipe: Recipe): string[] {
  const { filter, folder, identity, limits, program } = recipe
  const files = bubblewrapFiles(recipe).length
  return [
    ...(identity === 'user-namespace' ? ['--unshare-user', ...numbers('--uid', '--gid')] : []),
    ...['--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'],
    // As process 1 the shell takes all others with it when it ends, before bubblewrap returns.
    ...['--die-with-parent', '--new-session', '--as-pid-1', '--clearenv', '--hostname', 'sandbox'],
    ...Object.entries({ ...environment, ...(program && { HOME: homeRoot, ...program.env }) }).flatMap(
      ([name, value]) => ['--setenv', name, value],
    ),
    ...recipe.system.flatMap(({ path, link }) => (link ? ['--symlink', link, path] : ['--ro-bind', path, path])),
    ...['--perms', '0755', '--dir', '/etc'],
    ...['/etc/alternatives', '/etc/ld.so.cache', '/etc/ssl'].flatMap(path => ['--ro-bind-try', path, path]),
    ...['passwd', 'group', 'hosts'].flatMap((name, index) => [
      ...['--perms', '0444', '--ro-bind-data', String(firstDescriptor + index), `/etc/${name}`],
    ]),
    // bubblewrap leaves /proc/sys writable for whoever the kernel lets.
    ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', '--dev', '/dev'],
    ...scratch('/dev/shm', limits),
    ...['--remount-ro', '/dev'],
    ...scratch('/tmp', limits),
    ...(program ? programMounts(program, recipe.system) : []),
    ...['--bind', folder, workspaceRoot, '--remount-ro', '/'],
    ...['--cap-drop', 'ALL'],
    ...(filter ? ['--seccomp', String(firstDescriptor + files - 1)] : []),
    ...(identity === 'other-user' ? rightsToBecomeOther : []),
    // With a socket as its input bash would read what a program has put into its HOME.
    ...['--', 'bash', '--norc', '-c', firstProcess(recipe), 'bash', recipe.command],
  ]
}

const programMounts = ({ folders, readable }: ProgramParts, system: readonly SystemFolder[]): string[] => {
  const mounts = [
    ['--bind', folders.home, homeRoot],
    ['--bind', folders.sockets, socketRoot],
    ...readable
      .filter(path => !system.some(folder => path === folder.path || path.startsWith(`${folder.path}/`)))
      .map(path => ['--ro-bind', path, path]),
  ]
  return mounts.flatMap(mount => [...foldersAbove(mount.at(-1) ?? '').flatMap(openToAll), ...mount])
}

/** `/a` and `/a/b` for `/a/b/c`. */
const foldersAbove = (path: string): string[] =>
  path.split('/').flatMap((_, at, names) => (at > 1 ? [names.slice(0, at).join('/')] : []))

/** By itself bubblewrap makes the folders above a mount for its own user alone. */
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
 * What process 1 does: it only waits for the command. It keeps bubblewrap's own user, because bubblewrap may not send
 * the signal of `--die-with-parent` to another one; the command cannot reach it. The units of `ulimit` are KiB.
 */
function firstProcess(recipe: Recipe): string {
  const { identity, limits, isBounded, program } = recipe
  const gate = firstDescriptor + bubblewrapFiles(recipe).length
  const bounds = ['-c 0', `-f ${limits.fileBytes / 1024}`]
  // The number of processes counts for the user, and so for all sandboxes together: only where nothing better is there.
  if (!isBounded) bounds.push(`-u ${limits.processes}`, `-d ${limits.memoryBytes / 1024}`)
  const errors = program ? 4 : 3
  return [
    // One that is lower already stays.
    ...bounds.map(bound => `ulimit ${bound} 2>/dev/null`),
    // bubblewrap ties process 1 to its own life only now. A server that was killed before that does not answer, and
    // then nothing may start, since nobody would ever stop it.
    `echo ready >&${gate}; read -r answer <&${gate} || exit 125; exec ${gate}>&-`,
    // Closes whatever else bubblewrap got. The server closes what it inherits before it starts a program; this holds for what
    // a library opens later, and takes 0.06 ms of a command's 20.
    'cd /proc/self/fd && for fd in *; do ((fd < 3)) || exec {fd}>&-; done; cd /',
    // When memory is short, the kernel ends a tool rather than the server or its database.
    '{ echo 500 > /proc/self/oom_score_adj; } 2>/dev/null',
    'exec 3>&1 4>&2 >/dev/null 2>&1',
    `${identity === 'other-user' ? becomeOther : ''} bash --norc -c '${asCommandUser}' bash "$1" >&3 2>&${errors} 3>&- 4>&-`,
    'exit $?',
  ].join('\n')
}

/** Only the command's user may enter the workspace. */
const asCommandUser = `cd ${workspaceRoot} || exit 125; exec bash --norc -c "$1"`
