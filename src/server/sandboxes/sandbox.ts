import { availableParallelism } from 'node:os'
import type { Readable, Writable } from 'node:stream'

/** The folder of a session as everything inside a sandbox sees it. */
export const workspaceRoot = '/workspace'
/** HOME of a session's program, as it sees it. */
export const homeRoot = '/home/agent'
/** The folder of the sockets between a session's program and the server, as the program sees it. */
export const socketRoot = '/run/switchyard'

export type SandboxDriverName = 'bubblewrap' | 'virtual'

/** Why a command is no longer running. */
export type ExecOutcome = 'exited' | 'timed_out' | 'cancelled' | 'output_limit' | 'disk_limit'

export interface ExecRequest {
  /** A shell command; it starts in the workspace. */
  readonly command: string
  /** 120,000 when absent, 600,000 at most. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface ExecResult {
  readonly outcome: ExecOutcome
  /** 128 + n for a command that signal n ended; null unless `outcome` is `exited`. */
  readonly exitCode: number | null
  /** Standard output and error in one text. When it was longer than 1 MiB: its first and its last half MiB. */
  readonly output: string
  /** Bytes that the command wrote, kept or not. */
  readonly outputBytes: number
  readonly truncated: boolean
  /** Files that a command had written and that were deleted since it had filled the disk; absent for none. */
  readonly deletedFiles?: number
}

/** Of a file that is read or written as a whole. */
export const largestFileBytes = 10 * 1024 * 1024

export interface FileList {
  /** Paths of files and links, relative to the listed folder, sorted. */
  readonly paths: readonly string[]
  /** False when the folder holds more than was looked at. */
  readonly complete: boolean
}

export interface ListOptions {
  readonly skip: ReadonlySet<string>
  /** The list ends with its reason when it aborts. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The files of one workspace. Paths are relative to it or begin with `/workspace`. No call follows a link out of the
 * workspace, also while a command swaps links. Errors: `invalid_request` with a text for the model.
 */
export interface WorkspaceFiles {
  /** The bytes of a regular file of at most 10 MiB. */
  read(path: string): Promise<Buffer>
  /** Replaces or makes the file and its folders, 10 MiB at most; a reader sees the old content or the new one, never a part. */
  write(path: string, content: string | Buffer): Promise<'created' | 'replaced'>
  /** Reads, changes and writes one file; updates of one workspace run one after the other. */
  update(path: string, change: (content: Buffer) => Promise<Buffer>): Promise<void>
  /** All files below a folder but those in folders named in `skip`: at most 50,000, and 6,000,000 characters of paths. */
  list(path: string, options: ListOptions): Promise<FileList>
}

/** The place where one session's tools work. */
export interface Sandbox {
  readonly driver: SandboxDriverName
  readonly files: WorkspaceFiles
  /** Runs one command in a fresh shell. When it returns, no process of the command is left. */
  exec(request: ExecRequest): Promise<ExecResult>
  /**
   * Where a program can be started, with a HOME that stays as long as the workspace, and an empty folder for sockets: one
   * program at a time. Errors: `unavailable` when the driver isolates no programs and one that is isolated is asked for.
   */
  programPlace(isolation: Isolation): Promise<ProgramPlace>
  /** Stops all commands and programs at once and waits for their end; the files stay. Later commands are `cancelled`. */
  dispose(): Promise<void>
}

/** `none`: with the rights of the server, for programs that the operator trusts as much. */
export type Isolation = 'sandbox' | 'none'

/** Where a program of a session runs. */
export interface ProgramPlace {
  readonly isolation: Isolation
  /** The folders as the program sees them. */
  readonly seen: ProgramFolders
  /** The same folders outside. */
  readonly folders: ProgramFolders
  /** Files of its home; paths are relative to that. */
  readonly homeFiles: WorkspaceFiles
  start(request: ProgramRequest): Promise<SandboxProgram>
}

export interface ProgramFolders {
  readonly workspace: string
  readonly home: string
  readonly sockets: string
}

export interface ProgramRequest {
  /** A shell command that becomes the program; it starts in the workspace. */
  readonly command: string
  /** On top of ours. */
  readonly env: Readonly<Record<string, string>>
  /** Files and folders of the host that it may read, at the same paths. */
  readonly readable: readonly string[]
}

/** A program that runs until it ends, is stopped, or its sandbox is disposed of. Its children end with it. */
export interface SandboxProgram {
  readonly stdin: Writable
  readonly stdout: Readable
  /** What it wrote to standard error: the first and the last 32 KiB. */
  errors(): string
  /** Resolves when nothing of it is left; never rejects. */
  readonly exited: Promise<ProgramExit>
  /** Closes its input, asks it to end, ends it after two seconds, and waits. Repeating it is harmless. */
  stop(): Promise<void>
}

export interface ProgramExit {
  /** Null when a signal ended it. */
  readonly code: number | null
}

export interface BoundRequest {
  readonly command: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** How commands are run: one value for the whole server. */
export interface SandboxDriver {
  readonly name: SandboxDriverName
  /** What it isolates and how it limits, for people. */
  readonly detail: string
  /** The user that owns the workspace folders, when it is not the server's own. */
  readonly owner: number | undefined
  exec(folder: string, request: BoundRequest): Promise<ExecResult>
  /** Absent where programs cannot be isolated. */
  readonly start?: (folders: ProgramFolders, request: BoundProgram) => Promise<SandboxProgram>
}

export interface BoundProgram extends ProgramRequest {
  readonly signal: AbortSignal
}

/** What one command may use. */
export interface SandboxLimits {
  readonly memoryBytes: number
  readonly processes: number
  /** Processors that a command may keep busy, all its processes together; 0.5 is half of one. */
  readonly cpus: number
  /** Size of one file. */
  readonly fileBytes: number
  /** Size of each folder in memory: /tmp and /dev/shm. */
  readonly scratchBytes: number
  /** Output that is kept. */
  readonly outputBytes: number
  /** Output after which the command is stopped. */
  readonly totalOutputBytes: number
  /** A command that leaves less than this free on the disk of the workspace is stopped. */
  readonly freeDiskBytes: number
  /** A command that leaves less files than this to make on that disk is stopped. */
  readonly freeDiskFiles: number
  /** Time between the polite signal and the end of everything, after a time-out. */
  readonly graceMs: number
}

const MiB = 1024 * 1024

/** Our choice: Decision 0003; memory, output and time are those of Reliability, F32. */
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
