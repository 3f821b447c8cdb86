import {
  commandEnvironment,
  homeRoot,
  type NetworkMount,
  networkRoot,
  type ProgramFolders,
  type SandboxLimits,
  socketRoot,
  workspaceRoot,
} from '../sandbox.ts'

/** A folder or file of the host, visible in a container. */
interface BoundPath {
  readonly source: string
  readonly target: string
  readonly isReadOnly: boolean
}

/** What a container is created from. */
export interface ContainerRecipe {
  readonly image: string
  readonly command: string
  /** Separate streams and an open standard input; without it standard error goes to standard output. */
  readonly isProgram: boolean
  /** `uid:gid`. */
  readonly user: string
  readonly env: Readonly<Record<string, string>>
  /** Where the command starts; absent: the folder of the image. */
  readonly folder?: string
  readonly mounts: readonly BoundPath[]
  readonly limits: SandboxLimits
  readonly labels: Readonly<Record<string, string>>
  /** Runtime of the engine, such as `runsc`. */
  readonly runtime: string | undefined
  /** Id of the container whose network is shared; undefined for no network. */
  readonly networkOf: string | undefined
  /** True for the set-up of an image, which may change the system. */
  readonly isSetup?: boolean
}

export const workspaceMount = (source: string): BoundPath => ({ source, target: workspaceRoot, isReadOnly: false })

export const networkMount = ({ folder }: NetworkMount): BoundPath => ({
  source: folder,
  target: networkRoot,
  isReadOnly: true,
})

/** Without the socket of the proxy, which only the container of the proxy needs. */
export const certificateMounts = (network: NetworkMount | undefined): BoundPath[] =>
  (network?.certificates ?? []).map(name => ({
    source: `${network?.folder}/${name}`,
    target: `${networkRoot}/${name}`,
    isReadOnly: true,
  }))

export const programMounts = ({ home, sockets }: ProgramFolders, readable: readonly string[]): BoundPath[] => [
  { source: home, target: homeRoot, isReadOnly: false },
  { source: sockets, target: socketRoot, isReadOnly: false },
  // The system folders are those of the image.
  ...readable
    .filter(path => !isSystemPath(path))
    .map((path): BoundPath => ({ source: path, target: path, isReadOnly: true })),
]

const systemFolders = ['/bin', '/dev', '/etc', '/lib', '/lib32', '/lib64', '/proc', '/run', '/sbin', '/sys', '/usr']

const isSystemPath = (path: string): boolean =>
  path === '/' || systemFolders.some(folder => path === folder || path.startsWith(`${folder}/`))

/** Capabilities of root that package managers need; root has no others during the set-up of an image. */
const setupCapabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID']

/** Returns the body that creates a container. Source: Docker Engine API 1.41, `ContainerCreate`. */
export function containerBody(recipe: ContainerRecipe): object {
  const { command, env, image, isProgram, isSetup = false, labels, limits, networkOf, runtime, user } = recipe
  return {
    Image: image,
    User: isSetup ? '0:0' : user,
    ...(recipe.folder !== undefined && { WorkingDir: recipe.folder }),
    Env: Object.entries({ ...commandEnvironment, ...env }).map(([name, value]) => `${name}=${value}`),
    Entrypoint: ['/bin/sh', '-c', isProgram ? programScript : commandScript, 'sh'],
    Cmd: [command],
    Healthcheck: { Test: ['NONE'] },
    Tty: false,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Labels: labels,
    // A container in the network of another one has its host name too.
    ...(networkOf === undefined && { Hostname: 'sandbox' }),
    HostConfig: {
      NetworkMode: networkOf === undefined ? 'none' : `container:${networkOf}`,
      ReadonlyRootfs: !isSetup,
      Mounts: recipe.mounts.map(({ source, target, isReadOnly }) => ({
        Type: 'bind',
        Source: source,
        Target: target,
        ReadOnly: isReadOnly,
      })),
      ...(!isSetup && { Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,mode=1777,size=${limits.scratchBytes}` } }),
      ShmSize: limits.scratchBytes,
      CapDrop: ['ALL'],
      CapAdd: isSetup ? setupCapabilities : [],
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      Memory: limits.memoryBytes,
      MemorySwap: limits.memoryBytes,
      PidsLimit: limits.processes,
      NanoCpus: Math.round(limits.cpus * 1e9),
      CpuShares: 512,
      OomScoreAdj: 500,
      Ulimits: [
        { Name: 'core', Soft: 0, Hard: 0 },
        { Name: 'fsize', Soft: limits.fileBytes, Hard: limits.fileBytes },
      ],
      IpcMode: 'private',
      CgroupnsMode: 'private',
      RestartPolicy: { Name: 'no' },
      AutoRemove: false,
      Init: false,
      LogConfig: { Type: 'none' },
      ...(runtime !== undefined && { Runtime: runtime }),
    },
  }
}

const shell = 'shell=sh; command -v bash >/dev/null 2>&1 && shell="bash --norc"'

/**
 * Process 1 of a command, which only waits for it: when it exits, the kernel kills all others. The server's connection
 * is its standard input. When that closes, because the server was killed, all processes are killed.
 */
const commandScript = [
  shell,
  'exec 3<&0 4>&1 </dev/null >/dev/null 2>&1',
  '{ trap "" TERM; cat <&3 && kill -KILL -1; } 4>&- &',
  // In a subshell, so that this shell does not report a signal into the output of the command.
  '( exec $shell -c "$1" 3<&- >&4 2>&4 4>&- )',
  'exit $?',
].join('\n')

/**
 * Process 1 of a program. Its input passes a pipe, so that the end of the server's connection is noticed even if the
 * program never reads: the program then has 5 s to end.
 */
const programScript = [
  shell,
  'exec 3<&0 4>&1 5>&2 </dev/null >/dev/null',
  'mkfifo /tmp/.input || exit 126',
  '{ trap "" TERM; cat <&3 >/tmp/.input && sleep 5 && kill -KILL -1; } 4>&- 5>&- &',
  'exec </tmp/.input 3<&- 2>/dev/null',
  'rm /tmp/.input',
  '( exec $shell -c "$1" >&4 2>&5 4>&- 5>&- )',
  'exit $?',
].join('\n')
