import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chown, lstat, mkdtemp, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../platform/errors.ts'
import { bubblewrapArguments, bubblewrapFiles, type Recipe, type SystemFolder } from './bubblewrap-arguments.ts'
import { type Cgroup, type CgroupPlaces, findCgroups, makeCgroup } from './cgroup.ts'
import { type Launch, type LimitedRun, runLimited } from './limited-process.ts'
import { startProgram } from './program.ts'
import {
  type BoundProgram,
  type BoundRequest,
  type ProgramFolders,
  type SandboxDriver,
  type SandboxLimits,
  type SandboxProgram,
  sandboxUser,
} from './sandbox.ts'
import { seccompFilter } from './seccomp.ts'
import { createHomes } from './setup-homes.ts'

interface Settings {
  readonly limits: SandboxLimits
  readonly cgroups: CgroupPlaces | undefined
  readonly identity: 'other-user' | 'user-namespace'
  readonly filter: Buffer | undefined
  readonly system: readonly SystemFolder[]
}

/** Joins the control groups, then executes bubblewrap, so that the limits apply from the start. */
const joinAndBecome = [
  'count=$1; shift',
  'while [ "$count" -gt 0 ]; do echo $$ > "$1" || exit 125; shift; count=$((count - 1)); done',
  'exec bwrap "$@"',
].join('\n')

const searchPath = { PATH: '/usr/local/bin:/usr/bin:/bin' }

/**
 * Returns the driver that isolates with Linux namespaces. Rejects with the reason when a trial run fails. Results of
 * set-ups are stored below `workspacesDir`; without it there are none.
 */
export async function bubblewrapDriver(limits: SandboxLimits, workspacesDir?: string): Promise<SandboxDriver> {
  if (process.platform !== 'linux') throw new Error('bubblewrap runs on Linux only')
  const identity = process.getuid?.() === 0 ? 'other-user' : 'user-namespace'
  const cgroups = await findCgroups(limits)
  const system = await systemFolders()
  const settings: Settings = { limits, cgroups, identity, filter: seccompFilter(process.arch), system }
  const owner = identity === 'other-user' ? sandboxUser : undefined
  await tryOut(settings, owner)
  const exec: SandboxDriver['exec'] = async (folder, request) => {
    const { errorOutput, ...result } = await run(settings, folder, request)
    // The standard error of the shell is elsewhere: this output comes from bubblewrap before it started the command.
    if (result.outcome === 'exited' && errorOutput) throw notStarted(errorOutput)
    return result
  }
  return {
    name: 'bubblewrap',
    detail: [
      `own namespaces, no network unless the agent has config.network, ${identity === 'other-user' ? 'another user' : 'a user namespace'}`,
      settings.filter ? 'system call filter' : 'no system call filter for this processor',
      cgroups
        ? `limits by control groups (version ${cgroups.version}${cgroups.cpu ? '' : ', none for processors'})`
        : 'limits for each process only',
    ].join('; '),
    owner,
    hasNetwork: true,
    exec,
    start: (folders, request) => startInside(settings, folders, request),
    ...(workspacesDir !== undefined && {
      setUp: createHomes({ folder: join(workspacesDir, '.setups'), owner, exec }).setUp,
    }),
  }
}

/** Returns /usr, and /bin, /lib and others: links into /usr on most systems, separate folders on some. */
async function systemFolders(): Promise<SystemFolder[]> {
  const folders: SystemFolder[] = []
  for (const path of ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64']) {
    const found = await lstat(path).catch(() => undefined)
    if (found) folders.push({ path, link: found.isSymbolicLink() ? await readlink(path) : undefined })
  }
  return folders
}

const notStarted = (errorOutput: string) =>
  new AppError('internal', 'cannot start the sandbox', { cause: new Error(errorOutput.trim()) })

async function tryOut(settings: Settings, owner: number | undefined): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-trial-'))
  try {
    if (owner !== undefined) await chown(folder, owner, owner)
    const request = {
      command: 'echo ready > trial && cat trial',
      timeoutMs: 10_000,
      signal: new AbortController().signal,
    }
    const { exitCode, output, errorOutput, outcome } = await run(settings, folder, request)
    if (exitCode === 0 && output === 'ready\n') return
    throw new Error(`bubblewrap trial run failed: ${errorOutput.trim() || output.trim() || outcome}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function run(settings: Settings, folder: string, request: BoundRequest): Promise<LimitedRun> {
  const { cgroups, limits } = settings
  const cgroup = cgroups && (await makeCgroup(cgroups, limits))
  try {
    const { base, command, network } = request
    const launch = launchOf(settings, { folder, command, network, home: base?.home }, cgroup)
    return await runLimited(launch, { ...request, limits })
  } finally {
    await cgroup?.remove()
  }
}

async function startInside(
  settings: Settings,
  folders: ProgramFolders,
  request: BoundProgram,
): Promise<SandboxProgram> {
  const { cgroups, limits } = settings
  const cgroup = cgroups && (await makeCgroup(cgroups, limits))
  const { base, command, env, network, readable, signal } = request
  const program = { folders, env, readable }
  const task = { folder: folders.workspace, command, network, program, home: base?.home }
  const launch = launchOf(settings, task, cgroup)
  return startProgram({ ...launch, isInputOpen: true }, { limits, signal, ended: async () => cgroup?.remove() })
}

function launchOf(
  settings: Settings,
  task: Pick<Recipe, 'folder' | 'command' | 'network' | 'program' | 'home'>,
  cgroup: Cgroup | undefined,
): Launch {
  const args = bubblewrapArguments({ ...settings, ...task, isBounded: !!cgroup })
  const joinFiles = cgroup?.joinFiles ?? []
  return {
    file: '/bin/sh',
    args: ['-c', joinAndBecome, 'sh', String(joinFiles.length), ...joinFiles, ...args],
    env: searchPath,
    folder: task.folder,
    files: bubblewrapFiles(settings),
    awaitsReady: true,
    terminate,
    kill,
  }
}

/**
 * Returns process 1 of the sandbox, the only child of bubblewrap. It is looked up on demand: if bubblewrap reported it,
 * and the server were killed before answering, bubblewrap would fail and leave a process that waits forever.
 */
function processOne({ pid }: ChildProcess): number | undefined {
  try {
    return Number.parseInt(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'), 10) || undefined
  } catch {
    // It has exited, or this kernel has no such file.
    return undefined
  }
}

/** Sends SIGTERM to the session of the command. Process 1 is part of it, but the kernel does not deliver it there. */
function terminate(child: ChildProcess): boolean {
  const first = processOne(child)
  return first !== undefined && send(-first, 'SIGTERM')
}

/** Kills process 1: the kernel then kills all others, and only then does bubblewrap return. */
function kill(child: ChildProcess): void {
  const first = processOne(child)
  if (first === undefined || !send(first, 'SIGKILL')) child.kill('SIGKILL')
}

function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
