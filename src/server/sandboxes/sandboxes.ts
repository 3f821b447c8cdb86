import { resolve } from 'node:path'
import type { Egress } from '../egress/egress.ts'
import type { EgressSession } from '../egress/inner-host.ts'
import { AppError, invalid } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { bubblewrapRemedy } from './bubblewrap-remedy.ts'
import { chooseDriver, type DriverSettings } from './choose-driver.ts'
import { markDisk } from './disk-room.ts'
import { linked, openLink, withNetwork } from './network-link.ts'
import { startTrusted } from './program.ts'
import {
  type BoundRequest,
  type ExecRequest,
  type ExecResult,
  homeRoot,
  type Isolation,
  maxCommandBytes,
  type ProgramPlace,
  type Sandbox,
  type SandboxBase,
  type SandboxDriver,
  type SandboxDriverName,
  type SandboxProgram,
  sandboxLimits,
  socketRoot,
  workspaceRoot,
} from './sandbox.ts'
import { createSessionBases } from './session-base.ts'
import { deleteSession, deleteTree, foldersOf, makeWorkspace, workspaceOf } from './session-folders.ts'
import { workspaceFiles } from './workspace-files.ts'

export interface SandboxSettings {
  /** Contains one folder per session. */
  readonly workspacesDir: string
  readonly log: Pick<Log, 'info' | 'warn'>
  /** The driver to use, or the start fails; absent selects the best driver that works here. */
  readonly prefer?: SandboxDriverName | undefined
  /** Settings of the drivers; those with images need them. */
  readonly settings?: DriverSettings
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
  /** Image of agents that name none; undefined for a driver without images. */
  readonly image: string | undefined
  /** All images that agents may name. */
  readonly images: readonly string[]
  /** True when the driver can run the set-up commands of agents. */
  readonly hasSetup: boolean
  /**
   * Makes the image and the set-up of the session's agent available, so that `open` need not wait for them. Errors:
   * `SetupFailed`, `unavailable`, `invalid_request`.
   */
  prepare(session: EgressSession, signal: AbortSignal): Promise<void>
  /**
   * Returns the sandbox of a session, the same one until it is disposed of. Creates a missing workspace. Its commands
   * and isolated programs have the network, the image and the set-up of `session`; without it they have no network and
   * the default image.
   */
  open(sessionId: string, session?: EgressSession): Promise<Sandbox>
  /** Creates the workspace folder of a session with the owner that the driver needs. */
  makeFolder(sessionId: string): Promise<void>
  /** Kills all processes and deletes the workspace with its checkpoint marker. Does nothing when it does not exist. */
  remove(sessionId: string): Promise<void>
  /** Kills all processes in all sandboxes and frees the driver; the workspaces stay. */
  stopAll(): Promise<void>
}

/** Detects the driver for this machine. Errors: `unavailable` when `prefer` names a driver that does not work. */
export async function createSandboxes(given: SandboxSettings): Promise<Sandboxes> {
  const { workspacesDir, log, prefer, cpus, networkOf = () => undefined, settings } = given
  const root = resolve(workspacesDir)
  const limits = { ...sandboxLimits, ...(cpus !== undefined && { cpus }) }
  const { driver, detail, problem } = await chooseDriver({ prefer, limits, settings, workspacesDir: root, log })
  if (problem)
    log.warn(`tools run in a simulated shell without real programs: ${problem}; ${bubblewrapRemedy(problem)}`)
  else log.info({ driver: driver.name, detail }, 'sandbox')
  const images = driver.hasImages && settings ? [settings.image, ...settings.images] : []
  const bases = createSessionBases({ driver, root, networkOf, isAllowed: image => images.includes(image) })
  const opened = new Map<string, Promise<OpenSandbox>>()

  const stop = async (sessionId: string) => {
    const sandbox = await opened.get(sessionId)?.catch(() => undefined)
    opened.delete(sessionId)
    await sandbox?.dispose()
  }

  const openedFor = (sessionId: string): Promise<OpenSandbox> => {
    const folder = workspaceOf(root, sessionId)
    let sandbox = opened.get(sessionId)
    if (!sandbox) {
      sandbox = openSandbox(driver, folder, () => opened.delete(sessionId))
      opened.set(sessionId, sandbox)
      // A failed attempt must not be cached: the disk may have free space later.
      sandbox.catch(() => opened.delete(sessionId))
    }
    return sandbox
  }

  const prepare = async (session: EgressSession, signal?: AbortSignal) => {
    const { start } = await openedFor(session.id)
    start.base = await bases.baseOf(session, signal)
    start.isKnown = true
  }

  return {
    driver: driver.name,
    detail,
    hasNetwork: driver.hasNetwork,
    image: images[0],
    images,
    hasSetup: driver.setUp !== undefined,
    prepare,
    async open(sessionId, session) {
      const sandbox = await openedFor(sessionId)
      if (session && !sandbox.start.isKnown) await prepare(session)
      const network = session && networkOf(session)
      return network ? withNetwork(sandbox, network) : sandbox
    },
    async makeFolder(sessionId) {
      await makeWorkspace(workspaceOf(root, sessionId), driver.owner)
    },
    async remove(sessionId) {
      const folder = workspaceOf(root, sessionId)
      await stop(sessionId)
      await deleteSession(folder)
    },
    async stopAll() {
      await bases.stop()
      await Promise.all([...opened.keys()].map(stop))
      await driver.close?.()
    },
  }
}

interface OpenSandbox extends Sandbox {
  /** What its commands and programs start from, once that is known. */
  readonly start: { base: SandboxBase | undefined; isKnown: boolean }
}

const defaultTimeoutMs = 120_000
const maxTimeoutMs = 600_000
const maxBackgroundMs = 24 * 3_600_000

/** Returns the time limit of a command. */
function timeLimit({ timeoutMs, isBackground = false }: Pick<ExecRequest, 'timeoutMs' | 'isBackground'>): number {
  const wanted = timeoutMs ?? (isBackground ? maxBackgroundMs : defaultTimeoutMs)
  return Math.min(Math.max(wanted, 1), isBackground ? maxBackgroundMs : maxTimeoutMs)
}

async function openSandbox(driver: SandboxDriver, folder: string, forget: () => void): Promise<OpenSandbox> {
  await makeWorkspace(folder, driver.owner)
  const disposal = new AbortController()
  const running = new Set<Promise<unknown>>()
  const start: OpenSandbox['start'] = { base: undefined, isKnown: false }
  const started = (program: SandboxProgram): SandboxProgram => {
    const { exited } = program
    running.add(exited)
    void exited.then(() => running.delete(exited))
    return program
  }
  return {
    start,
    driver: driver.name,
    files: workspaceFiles(folder),
    async programPlace(isolation) {
      const place = await makePlace(driver, folder, { isolation, signal: disposal.signal, base: start.base })
      return { ...place, start: async request => started(await place.start(request)) }
    },
    async exec(request) {
      const { command, signal, onOutput } = request
      checkCommand(command)
      const either = signal ? AbortSignal.any([signal, disposal.signal]) : disposal.signal
      const bounds = { timeoutMs: timeLimit(request), signal: either, ...(onOutput && { onOutput }) }
      const run = linked({ driver, network: request.network }, network =>
        execWithin(driver, folder, { command, network, base: start.base, ...bounds }),
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
  const result = await driver.exec(folder, { ...request, diskFloor: mark.floor })
  if (result.outcome === 'disk_limit') return { ...result, deletedFiles: await mark.clear() }
  // It can have ended before the disk was looked at again.
  const deletedFiles = (await mark.isBelowFloor()) ? await mark.clear() : 0
  if (deletedFiles === 0) return result
  return { ...result, outcome: result.outcome === 'cancelled' ? 'cancelled' : 'disk_limit', deletedFiles }
}

function checkCommand(command: string): void {
  if (command.includes('\0')) throw invalid('command: must not contain a NUL character')
  if (Buffer.byteLength(command) > maxCommandBytes) {
    throw invalid(`command: exceeds ${maxCommandBytes} bytes; write a script file and run that`)
  }
}

interface Placing {
  readonly isolation: Isolation
  readonly signal: AbortSignal
  readonly base: SandboxBase | undefined
}

async function makePlace(
  driver: SandboxDriver,
  folder: string,
  { isolation, signal, base }: Placing,
): Promise<ProgramPlace> {
  const { start, owner } = driver
  if (!start && isolation === 'sandbox')
    throw new AppError(
      'unavailable',
      `isolated programs need the sandbox bubblewrap, docker or kubernetes, but this server uses: ${driver.detail}`,
    )
  const folders = foldersOf(folder)
  // Remove the sockets of an earlier program.
  await deleteTree(folders.sockets)
  await makeWorkspace(folders.sockets, owner)
  await makeWorkspace(folders.home, owner)
  const inside = { workspace: workspaceRoot, home: homeRoot, sockets: socketRoot }
  return {
    isolation,
    hasOwnSystem: isolation === 'sandbox' && driver.hasOwnSystem === true,
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
        const program = await start(folders, { ...request, network: link, signal, base })
        void program.exited.then(() => link?.close())
        return program
      } catch (error) {
        await link?.close()
        throw error
      }
    },
  }
}
