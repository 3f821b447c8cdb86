import { chmod, chown, lchown, lstat, mkdir, readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Egress } from '../egress/egress.ts'
import type { EgressSession } from '../egress/inner-host.ts'
import { runChild } from '../platform/child-process.ts'
import { AppError, invalid } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { bubblewrapDriver } from './bubblewrap.ts'
import { bubblewrapRemedy } from './bubblewrap-remedy.ts'
import { markDisk } from './disk-room.ts'
import { type KubernetesDriverSettings, kubernetesDriver } from './kubernetes/driver.ts'
import { linked, openLink, withNetwork } from './network-link.ts'
import { startTrusted } from './program.ts'
import {
  type BoundRequest,
  type ExecRequest,
  type ExecResult,
  homeRoot,
  type Isolation,
  networkFolderOf,
  type ProgramFolders,
  type ProgramPlace,
  type Sandbox,
  type SandboxDriver,
  type SandboxDriverName,
  type SandboxLimits,
  type SandboxProgram,
  sandboxLimits,
  socketRoot,
  workspaceRoot,
} from './sandbox.ts'
import { virtualDriver } from './virtual.ts'
import { workspaceFiles } from './workspace-files.ts'

export interface SandboxSettings {
  /** Contains one folder per session. */
  readonly workspacesDir: string
  readonly log: Pick<Log, 'info' | 'warn'>
  /** The driver to use, or the start fails; absent selects the best driver that works here. */
  readonly prefer?: SandboxDriverName | undefined
  /** The cluster of the driver `kubernetes`. */
  readonly kubernetes?: Pick<KubernetesDriverSettings, 'settings' | 'image' | 'times'> | undefined
  /** Processors that a command may use; default: half of the machine. */
  readonly cpus?: number | undefined
  /** Returns the network of a session's commands and programs; default: none. */
  readonly networkOf?: Egress['networkOf']
}

export interface Sandboxes {
  readonly driver: SandboxDriverName
  /** Description of the driver's isolation and limits, and why no better driver is used; for people. */
  readonly detail: string
  /** True when the driver can give commands and programs a network. */
  readonly hasNetwork: boolean
  /**
   * Returns the sandbox of a session, the same one until it is disposed of. Creates a missing workspace. Its commands
   * and isolated programs have the network of `session`; without it they have none.
   */
  open(sessionId: string, session?: EgressSession): Promise<Sandbox>
  /** Creates the workspace folder of a session with the owner that the driver needs. */
  makeFolder(sessionId: string): Promise<void>
  /** Kills all processes and deletes the workspace with its checkpoint marker. Does nothing when it does not exist. */
  remove(sessionId: string): Promise<void>
  /** Kills all processes in all sandboxes; the workspaces stay. */
  stopAll(): Promise<void>
}

/** Detects the driver for this machine. Errors: `unavailable` when `prefer` names a driver that does not work. */
export async function createSandboxes(settings: SandboxSettings): Promise<Sandboxes> {
  const { workspacesDir, log, cpus, networkOf = () => undefined } = settings
  const limits = { ...sandboxLimits, ...(cpus !== undefined && { cpus }) }
  const { driver, detail, problem } = await choose(settings, limits)
  if (problem)
    log.warn(`tools run in a simulated shell without real programs: ${problem}; ${bubblewrapRemedy(problem)}`)
  else log.info({ driver: driver.name, detail }, 'sandbox')
  const root = resolve(workspacesDir)
  const opened = new Map<string, Promise<Sandbox>>()

  const stop = async (sessionId: string) => {
    const sandbox = await opened.get(sessionId)?.catch(() => undefined)
    opened.delete(sessionId)
    await sandbox?.dispose()
  }

  return {
    driver: driver.name,
    detail,
    hasNetwork: driver.hasNetwork,
    async open(sessionId, session) {
      const folder = folderOf(root, sessionId)
      let sandbox = opened.get(sessionId)
      if (!sandbox) {
        sandbox = openSandbox(driver, folder, () => opened.delete(sessionId))
        opened.set(sessionId, sandbox)
        // A failed attempt must not be cached: the disk may have free space later.
        sandbox.catch(() => opened.delete(sessionId))
      }
      const network = session && networkOf(session)
      return network ? withNetwork(await sandbox, network) : await sandbox
    },
    makeFolder: sessionId => makeWorkspace(folderOf(root, sessionId), driver.owner),
    async remove(sessionId) {
      const folder = folderOf(root, sessionId)
      await stop(sessionId)
      const { workspace, home, sockets } = foldersOf(folder)
      for (const each of [markerOf(folder), networkFolderOf(folder), sockets, home, workspace]) await deleteTree(each)
    },
    async stopAll() {
      await Promise.all([...opened.keys()].map(stop))
    },
  }
}

interface Choice {
  readonly driver: SandboxDriver
  readonly detail: string
  /** Why no better driver is used. */
  readonly problem?: string
}

async function choose(settings: SandboxSettings, limits: SandboxLimits): Promise<Choice> {
  const { prefer, kubernetes, workspacesDir, log } = settings
  if (prefer === 'kubernetes') {
    const driver = await clusterDriver(kubernetes, { limits, workspacesDir: resolve(workspacesDir), log })
    return { driver, detail: driver.detail }
  }
  const virtual = virtualDriver(limits)
  if (prefer === 'virtual') return { driver: virtual, detail: virtual.detail }
  try {
    const driver = await bubblewrapDriver(limits)
    return { driver, detail: driver.detail }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    if (prefer) throw new AppError('unavailable', `sandbox driver bubblewrap: ${reason}`, { cause })
    return { driver: virtual, detail: `${virtual.detail}; bubblewrap is not used: ${reason}`, problem: reason }
  }
}

async function clusterDriver(
  cluster: SandboxSettings['kubernetes'],
  rest: Pick<KubernetesDriverSettings, 'limits' | 'workspacesDir' | 'log'>,
): Promise<SandboxDriver> {
  if (!cluster) throw new AppError('unavailable', 'sandbox driver kubernetes: its cluster is not configured')
  try {
    return await kubernetesDriver({ ...cluster, ...rest })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new AppError('unavailable', `sandbox driver kubernetes: ${reason}`, { cause })
  }
}

function folderOf(root: string, sessionId: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(sessionId)) throw invalid('invalid session_id')
  return join(root, sessionId)
}

/** Returns the file that names the last checkpoint of a workspace. */
const markerOf = (workspace: string): string => `${workspace}.checkpoint`

/** Session ids contain no dot, so these paths cannot collide with a workspace. */
const foldersOf = (workspace: string): ProgramFolders => ({
  workspace,
  home: `${workspace}.home`,
  sockets: `${workspace}.run`,
})

const defaultTimeoutMs = 120_000
const maxTimeoutMs = 600_000
const maxBackgroundMs = 24 * 3_600_000

/** Returns the time limit of a command. */
function timeLimit({ timeoutMs, isBackground = false }: Pick<ExecRequest, 'timeoutMs' | 'isBackground'>): number {
  const wanted = timeoutMs ?? (isBackground ? maxBackgroundMs : defaultTimeoutMs)
  return Math.min(Math.max(wanted, 1), isBackground ? maxBackgroundMs : maxTimeoutMs)
}

async function openSandbox(driver: SandboxDriver, folder: string, forget: () => void): Promise<Sandbox> {
  await makeWorkspace(folder, driver.owner)
  const disposal = new AbortController()
  const running = new Set<Promise<unknown>>()
  const started = (program: SandboxProgram): SandboxProgram => {
    const { exited } = program
    running.add(exited)
    void exited.then(() => running.delete(exited))
    return program
  }
  return {
    driver: driver.name,
    files: workspaceFiles(folder),
    async programPlace(isolation) {
      const place = await makePlace(driver, folder, { isolation, signal: disposal.signal })
      return { ...place, start: async request => started(await place.start(request)) }
    },
    async exec(request) {
      const { command, signal, onOutput } = request
      checkCommand(command)
      const either = signal ? AbortSignal.any([signal, disposal.signal]) : disposal.signal
      const bounds = { timeoutMs: timeLimit(request), signal: either, ...(onOutput && { onOutput }) }
      const run = linked({ driver, network: request.network }, network =>
        execWithin(driver, folder, { command, network, ...bounds }),
      )
      running.add(run)
      try {
        return await run
      } finally {
        running.delete(run)
      }
    },
    async dispose() {
      disposal.abort()
      forget()
      await Promise.allSettled(running)
      await driver.release?.(folder)
    },
  }
}

/** Runs a command. When it fills the disk, deletes the files that it wrote, because others write to the same disk. */
async function execWithin(driver: SandboxDriver, folder: string, request: BoundRequest): Promise<ExecResult> {
  const mark = await markDisk(folder, sandboxLimits)
  const result = await driver.exec(folder, request)
  if (result.outcome !== 'disk_limit') return result
  return { ...result, deletedFiles: await mark.clear() }
}

/** The kernel accepts at most 128 KiB per argument. */
const maxCommandBytes = 100_000

function checkCommand(command: string): void {
  if (command.includes('\0')) throw invalid('command: must not contain a NUL character')
  if (Buffer.byteLength(command) > maxCommandBytes) {
    throw invalid(`command: exceeds ${maxCommandBytes} bytes; write a script file and run that`)
  }
}

interface Placing {
  readonly isolation: Isolation
  readonly signal: AbortSignal
}

async function makePlace(driver: SandboxDriver, folder: string, { isolation, signal }: Placing): Promise<ProgramPlace> {
  const { start, owner } = driver
  if (!start && isolation === 'sandbox')
    throw new AppError(
      'unavailable',
      `isolated programs need the bubblewrap sandbox, but this server uses: ${driver.detail}`,
    )
  const folders = foldersOf(folder)
  // Remove the sockets of an earlier program.
  await deleteTree(folders.sockets)
  await makeWorkspace(folders.sockets, owner)
  await makeWorkspace(folders.home, owner)
  const inside = { workspace: workspaceRoot, home: homeRoot, sockets: socketRoot }
  return {
    isolation,
    foldersInside: isolation === 'sandbox' ? inside : folders,
    folders,
    homeFiles: workspaceFiles(folders.home),
    hasSockets: isolation === 'none' || driver.lacksSockets !== true,
    async start({ network, ...request }) {
      // A program without isolation has the network of the server.
      if (!start || isolation === 'none')
        return startTrusted({ ...request, signal }, { folders, limits: sandboxLimits, signal })
      const link = await openLink({ driver, network })
      try {
        const program = await start(folders, { ...request, network: link, signal })
        void program.exited.then(() => link?.close())
        return program
      } catch (error) {
        await link?.close()
        throw error
      }
    },
  }
}

async function makeWorkspace(folder: string, owner: number | undefined): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  if (owner === undefined || (await lstat(folder)).uid === owner) return
  // Migrates a workspace that another driver created. Its root is changed last and marks completion.
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    await lchown(join(entry.parentPath, entry.name), owner, owner)
  }
  await chown(folder, owner, owner)
}

/** Also deletes what a tool made hard to delete: folders without permissions, and trees deeper than a path can name. */
async function deleteTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true })
  } catch {
    const script = 'chmod -R u+rwX -- "$1" 2>/dev/null; exec rm -rf -- "$1"'
    await runChild('/bin/sh', ['-c', script, 'sh', folder], { env: { PATH: '/usr/bin:/bin' } })
  }
}
