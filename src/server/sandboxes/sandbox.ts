import { availableParallelism } from 'node:os'
import type { Readable, Writable } from 'node:stream'

/** Path of a session's workspace inside a sandbox. */
export const workspaceRoot = '/workspace'
/**
 * User id inside a sandbox. When the server is root also outside, because root inside could change kernel settings.
 */
export const sandboxUser = 65_533
/** Variables of all commands; PATH is that of the system or the image. */
export const commandEnvironment = {
  HOME: workspaceRoot,
  USER: 'agent',
  LOGNAME: 'agent',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  TMPDIR: '/tmp',
}
/** HOME of a session's program inside a sandbox. */
export const homeRoot = '/home/agent'
/** Path of the folder of the sockets between a session's program and the server, inside a sandbox. */
export const socketRoot = '/run/switchyard'
/** Path of the folder with the socket of the network proxy, inside a sandbox. */
export const networkRoot = '/run/switchyard-network'
/** Name of that socket in its folder. */
export const proxySocket = 'proxy.sock'
/** Returns the folder on the host with the sockets of a session's network. */
export const networkFolderOf = (workspace: string): string => `${workspace}.network`
/** Port on 127.0.0.1 where commands and programs reach the proxy, inside a sandbox. */
export const proxyPort = 3128

export type SandboxDriverName = 'bubblewrap' | 'virtual' | 'docker' | 'kubernetes'

/** Why a command has ended. */
export type ExecOutcome = 'exited' | 'timed_out' | 'cancelled' | 'output_limit' | 'disk_limit'

export interface ExecRequest {
  /** A shell command; it starts in the workspace. */
  readonly command: string
  /** Default 120,000, maximum 600,000. A background command: default and maximum 24 hours. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** True for a command that the caller does not wait for. */
  readonly isBackground?: boolean
  /** Called with each part of the output as it arrives. */
  readonly onOutput?: (part: Buffer) => void
  /** Replaces that of the sandbox. */
  readonly network?: SandboxNetwork | undefined
}

/** Network of a session's sandbox: a proxy in the server that decides about every connection. */
export interface SandboxNetwork {
  /** Makes the proxy listen. The caller closes the link after the command or program. */
  open(): Promise<NetworkLink>
}

export interface NetworkLink extends NetworkMount {
  close(): Promise<void>
}

/** How a sandbox reaches the proxy. */
export interface NetworkMount {
  /** Folder of the host that is mounted read-only at `networkRoot`. */
  readonly folder: string
  /** Files of `folder` that programs read: the authorities that `env` names. */
  readonly certificates: readonly string[]
  /** Variables with which programs find the proxy at `proxyPort`. */
  readonly env: Readonly<Record<string, string>>
}

export interface ExecResult {
  readonly outcome: ExecOutcome
  /** 128 + n for a command that was killed by signal n; null for one that was stopped. */
  readonly exitCode: number | null
  /** Standard output and error combined. Output over 1 MiB is cut to its first and last half MiB. */
  readonly output: string
  /** Bytes that the command wrote, including those cut from `output`. */
  readonly outputBytes: number
  readonly truncated: boolean
  /** Number of files of the command that were deleted because it had filled the disk; absent if none. */
  readonly deletedFiles?: number
}

/** Maximum size of a file that is read or written as a whole. */
export const maxFileBytes = 10 * 1024 * 1024

export interface FileList {
  /** Paths of files and links, relative to the listed folder, sorted. */
  readonly paths: readonly string[]
  /** False when the folder has more entries than the limits allow. */
  readonly complete: boolean
}

export interface ListOptions {
  readonly skip: ReadonlySet<string>
  /** Rejects with its reason when it aborts. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The files of one workspace. Paths are relative to it or begin with `/workspace`. No call follows a link out of the
 * workspace, even while a command replaces links. Errors: `invalid_request` with a message for the model.
 */
export interface WorkspaceFiles {
  /** Returns the bytes of a regular file of at most 10 MiB. */
  read(path: string): Promise<Buffer>
  /** Creates or atomically replaces a file of at most 10 MiB, with its folders. */
  write(path: string, content: string | Buffer): Promise<'created' | 'replaced'>
  /** Reads, changes and writes one file. Updates of one workspace are serialized. */
  update(path: string, change: (content: Buffer) => Promise<Buffer>): Promise<void>
  /**
   * Lists all files below a folder except in folders named in `skip`, up to 50,000 files and 6,000,000 path characters.
   */
  list(path: string, options: ListOptions): Promise<FileList>
}

/** Runs the tools of one session. */
export interface Sandbox {
  readonly driver: SandboxDriverName
  readonly files: WorkspaceFiles
  /** Runs one command in a fresh shell. When it resolves, no process of the command is left. */
  exec(request: ExecRequest): Promise<ExecResult>
  /**
   * Returns where a program can be started, with a HOME that persists as long as the workspace, and an empty folder for
   * sockets. One program at a time. Errors: `unavailable` when the driver cannot isolate programs and `sandbox` is
   * requested.
   */
  programPlace(isolation: Isolation): Promise<ProgramPlace>
  /** Kills all commands and programs and waits for their end; the files stay. Later commands are `cancelled`. */
  dispose(): Promise<void>
}

/** `none` runs with the rights of the server, for programs that the operator trusts. */
export type Isolation = 'sandbox' | 'none'

/** Where a session's program runs. */
export interface ProgramPlace {
  readonly isolation: Isolation
  /** True when the system folders that the program sees are those of an image, not of the host. */
  readonly hasOwnSystem: boolean
  /** The folders as the program sees them. */
  readonly foldersInside: ProgramFolders
  /** The same folders on the host. */
  readonly folders: ProgramFolders
  /** Files of its home; paths are relative to the home. */
  readonly homeFiles: WorkspaceFiles
  /** False when programs cannot reach the sockets in their folder, because they run on another machine. */
  readonly hasSockets: boolean
  start(request: ProgramRequest): Promise<SandboxProgram>
}

export interface ProgramFolders {
  readonly workspace: string
  readonly home: string
  readonly sockets: string
}

export interface ProgramRequest {
  /** A shell command that starts the program in the workspace. */
  readonly command: string
  /** Added to the default variables. */
  readonly env: Readonly<Record<string, string>>
  /** Files and folders of the host that the program may read, at the same paths. */
  readonly readable: readonly string[]
  /** Replaces that of the sandbox. */
  readonly network?: SandboxNetwork | undefined
}

/** A program that runs until it exits, is stopped, or its sandbox is disposed of. Its children end with it. */
export interface SandboxProgram {
  readonly stdin: Writable
  readonly stdout: Readable
  /** Returns its standard error: the first and the last 32 KiB. */
  errors(): string
  /** Resolves when none of its processes is left; never rejects. */
  readonly exited: Promise<ProgramExit>
  /** Closes its input, requests its end, kills it after 2 s, and waits. Idempotent. */
  stop(): Promise<void>
}

export interface ProgramExit {
  /** Null when a signal killed it. */
  readonly code: number | null
}

export interface BoundRequest extends Pick<ExecRequest, 'command' | 'onOutput'> {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Free space below which the command is stopped. Absent: half of what is free when it starts, or less. */
  readonly diskFloor?: DiskRoom | undefined
  /** Absent: the command has no network. */
  readonly network?: NetworkMount | undefined
  /** Absent: it starts from the default. */
  readonly base?: SandboxBase | undefined
}

/** Free space on a disk. */
export interface DiskRoom {
  readonly bytes: number
  /** Number of files that can still be created; infinite when the file system has no limit. */
  readonly files: number
}

/** What the commands and programs of a session start from. */
export interface SandboxBase {
  /** Image of the system. */
  readonly image?: string
  /** Folder of the host that is HOME of commands, and of which programs see their own. */
  readonly home?: string
}

/** A set-up of an agent's sandboxes. It sees no files of sessions. */
export interface SetupRequest {
  /** Absent: the default image. */
  readonly image: string | undefined
  /** Empty: only the image is made available. */
  readonly commands: readonly string[]
  /** Identifies the result: 40 hex digits. */
  readonly digest: string
  readonly signal: AbortSignal
  readonly network?: NetworkMount | undefined
}

/** Runs commands; the whole server uses one driver. */
export interface SandboxDriver {
  readonly name: SandboxDriverName
  /** Description of its isolation and limits, for people. */
  readonly detail: string
  /** User that owns the workspace folders, when it is not the user of the server. */
  readonly owner: number | undefined
  exec(folder: string, request: BoundRequest): Promise<ExecResult>
  /** True when its commands and programs can reach the proxy of a `NetworkMount`. */
  readonly hasNetwork: boolean
  /** Absent when the driver cannot isolate programs. */
  readonly start?: (folders: ProgramFolders, request: BoundProgram) => Promise<SandboxProgram>
  /** True when isolated programs cannot reach the sockets in their folder. */
  readonly lacksSockets?: true
  /** True when agents can have an image. */
  readonly hasImages?: boolean
  /** True when the system folders inside are not those of the host. */
  readonly hasOwnSystem?: boolean
  /**
   * Returns the result of a set-up, which is cached. `home` in the result is a folder to copy into that of the session.
   * Absent when the driver has none. Errors: `SetupFailed`; `unavailable` for an image that cannot be used.
   */
  readonly setUp?: (request: SetupRequest) => Promise<SandboxBase>
  /** Ends what the driver retains for a workspace. Called when no command or program of it is left. */
  readonly release?: (folder: string) => Promise<void>
  /** Frees its resources. No command runs. */
  readonly close?: () => Promise<void>
}

export interface BoundProgram extends Omit<ProgramRequest, 'network'> {
  readonly signal: AbortSignal
  /** Absent: the program has no network besides its sockets. */
  readonly network?: NetworkMount | undefined
  readonly base?: SandboxBase | undefined
}

/** Limits of one command. */
export interface SandboxLimits {
  readonly memoryBytes: number
  readonly processes: number
  /** Processors that all processes of a command may use together; 0.5 is half of one. */
  readonly cpus: number
  /** Size of one file. */
  readonly fileBytes: number
  /** Size of each in-memory folder: /tmp and /dev/shm. */
  readonly scratchBytes: number
  /** Output that is retained. */
  readonly outputBytes: number
  /** Output after which the command is stopped. */
  readonly totalOutputBytes: number
  /** A command is stopped when free space on the disk of the workspace falls below this. */
  readonly freeDiskBytes: number
  /** A command is stopped when the number of files that can be created on that disk falls below this. */
  readonly freeDiskFiles: number
  /** Time between SIGTERM and SIGKILL after a timeout. */
  readonly graceMs: number
}

const MiB = 1024 * 1024

/** Longest command. The kernel accepts at most 128 KiB per argument. */
export const maxCommandBytes = 100_000

/** Our choice (Decision 0003). */
export const sandboxLimits: SandboxLimits = {
  memoryBytes: 2048 * MiB,
  processes: 512,
  cpus: Math.max(1, availableParallelism() / 2),
  fileBytes: 1024 * MiB,
  scratchBytes: 512 * MiB,
  outputBytes: MiB,
  totalOutputBytes: 256 * MiB,
  freeDiskBytes: 1024 * MiB,
  freeDiskFiles: 20_000,
  graceMs: 2_000,
}
