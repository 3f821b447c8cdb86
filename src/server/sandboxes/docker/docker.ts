import { randomUUID } from 'node:crypto'
import { chown, mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { DockerSettings } from '../../config/agent-settings.ts'
import { listOf, recordOf } from '../../platform/json.ts'
import { boundedOutput } from '../bounded-output.ts'
import { resultOf } from '../limited-process.ts'
import { supervised } from '../program.ts'
import {
  type BoundProgram,
  type BoundRequest,
  type ExecResult,
  homeRoot,
  type NetworkMount,
  type ProgramFolders,
  type SandboxDriver,
  type SandboxLimits,
  type SandboxProgram,
  sandboxUser,
  workspaceRoot,
} from '../sandbox.ts'
import { collect, outOfMemory } from './collect.ts'
import { type ContainerRecipe, certificateMounts, programMounts, workspaceMount } from './container-body.ts'
import { type Containers, createContainers } from './containers.ts'
import { connectEngine, type Engine } from './engine.ts'
import { createImages, PullCancelled } from './images.ts'
import { registerOwner } from './leftovers.ts'
import { hasForwarder, startProxy } from './proxy-container.ts'
import { createSetups } from './setups.ts'

export interface DockerOptions {
  readonly limits: SandboxLimits
  readonly settings: DockerSettings
  /** Image of agents that name none. */
  readonly image: string
  /** Contains the workspaces; the engine must see it at the same path. */
  readonly workspacesDir: string
}

/**
 * Returns the driver that runs each command and program in a new container. Rejects with the reason when the engine, the
 * image or a trial run fails.
 */
export async function dockerDriver({ limits, settings, image, workspacesDir }: DockerOptions): Promise<SandboxDriver> {
  const engine = await connectEngine(settings.socket).catch((cause: Error) => {
    throw new Error(`the engine at ${settings.socket} cannot be used: ${cause.message}`, { cause })
  })
  const folder = join(workspacesDir, '.docker')
  const owner = await registerOwner(engine, folder)
  const images = createImages(engine, { pull: settings.pull })
  const identity = await identityOf(engine, settings.user)
  const containers = createContainers({ engine, images, owner })
  const own: Own = { limits, image, containers, runtime: settings.runtime, user: identity.user }
  try {
    const proxyImage = settings.proxyImage ?? image
    for (const needed of new Set([image, proxyImage])) await images.ensure(needed)
    await tryOut(own, folder, identity.owner)
    const hasNetwork = await hasForwarder({ ...own, image: proxyImage })
    const withProxy: OwnWithProxy = { ...own, proxyImage }
    const setups = createSetups({ ...withProxy, engine, images, owner, diskFolder: folder })
    return {
      name: 'docker',
      detail: [
        `a container for each command (image ${image}${settings.runtime ? `, runtime ${settings.runtime}` : ''})`,
        `user ${identity.user}, no capabilities, read-only system, limits by the engine`,
        hasNetwork
          ? 'no network unless the agent has config.network'
          : `no network: image ${proxyImage} has no socat; set sandbox.docker.proxy_image to one that has`,
      ].join('; '),
      owner: identity.owner,
      hasNetwork,
      hasImages: true,
      hasOwnSystem: true,
      exec: (workspace, request) => exec(withProxy, workspace, request),
      start: (folders, request) => start(withProxy, folders, request),
      setUp: setups.setUp,
      close: owner.close,
    }
  } catch (error) {
    await owner.close()
    throw error
  }
}

interface Own {
  readonly limits: SandboxLimits
  readonly image: string
  readonly containers: Containers
  readonly runtime: string | undefined
  readonly user: string
}

interface OwnWithProxy extends Own {
  readonly proxyImage: string
}

interface Identity {
  /** `uid:gid` in containers. */
  readonly user: string
  /** Owner of the workspaces, when it is not the user of the server. */
  readonly owner: number | undefined
}

/** The user of commands owns the workspaces: another user if the server is root, else that of the server. */
async function identityOf(engine: Engine, given: string | undefined): Promise<Identity> {
  const isRoot = process.getuid?.() === 0
  if (given !== undefined) return { user: given, owner: isRoot ? Number.parseInt(given, 10) : undefined }
  if (isRoot) return { user: `${sandboxUser}:${sandboxUser}`, owner: sandboxUser }
  const info = recordOf(await engine.call({ method: 'GET', path: '/info' }))
  // In a rootless engine root is the user of the engine, which must be that of the server.
  const isRootless = listOf(info['SecurityOptions']).some(option => String(option).includes('rootless'))
  return { user: isRootless ? '0:0' : `${process.getuid?.()}:${process.getgid?.()}`, owner: undefined }
}

/** Runs a command that writes a file, and reads that file: engine and server must see the same folder. */
async function tryOut(own: Own, parent: string, owner: number | undefined): Promise<void> {
  const folder = join(parent, `trial-${randomUUID()}`)
  await mkdir(folder, { mode: 0o700 })
  try {
    if (owner !== undefined) await chown(folder, owner, owner)
    const request = {
      command: 'echo ready > trial && cat trial',
      timeoutMs: 30_000,
      signal: AbortSignal.timeout(60_000),
    }
    const { outcome, output } = await runCommand(own, folder, request).catch((error: unknown) => {
      throw new Error(`trial run failed: ${reasonOf(error)}`, { cause: error })
    })
    if (output !== 'ready\n') throw new Error(`trial run failed: ${output.trim() || outcome}`)
    const seen = await readFile(join(folder, 'trial'), 'utf8').catch(() => '')
    if (seen !== 'ready\n')
      throw new Error(`the engine does not see ${parent}; mount the data folder at the same path for the service`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const reasonOf = (error: unknown): string => {
  const { message, cause } = error instanceof Error ? error : new Error(String(error))
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

async function exec(own: OwnWithProxy, folder: string, request: BoundRequest): Promise<ExecResult> {
  if (request.signal.aborted) return resultOf('cancelled', null, boundedOutput(own.limits.outputBytes))
  return await withProxy(own, request.network, networkOf => runCommand(own, folder, request, networkOf))
}

/** Runs `work` with the id of a container whose network leads to the proxy. */
async function withProxy<T>(
  own: OwnWithProxy,
  network: NetworkMount | undefined,
  work: (networkOf: string | undefined) => Promise<T>,
): Promise<T> {
  if (!network) return await work(undefined)
  const proxy = await startProxy({ ...own, image: own.proxyImage }, network)
  try {
    return await work(proxy.id)
  } finally {
    proxy.end()
  }
}

async function runCommand(own: Own, folder: string, request: BoundRequest, networkOf?: string): Promise<ExecResult> {
  const { limits } = own
  const { signal } = request
  const recipe = {
    ...recipeOf(own, request, networkOf),
    env: request.network?.env ?? {},
    isProgram: false,
    mounts: [workspaceMount(folder), ...certificateMounts(request.network)],
  }
  try {
    const container = await own.containers.start(recipe, { signal })
    return await collect(container, { ...request, folder, limits })
  } catch (error) {
    // A pull of the image was cancelled; no container has started.
    if (error instanceof PullCancelled) return resultOf('cancelled', null, boundedOutput(limits.outputBytes))
    throw error
  }
}

type Shared = Pick<
  ContainerRecipe,
  'image' | 'command' | 'user' | 'limits' | 'labels' | 'runtime' | 'networkOf' | 'folder'
>

const recipeOf = (own: Own, { command, base }: BoundRequest | BoundProgram, networkOf: string | undefined): Shared => ({
  image: base?.image ?? own.image,
  command,
  user: own.user,
  limits: own.limits,
  labels: {},
  runtime: own.runtime,
  networkOf,
  folder: workspaceRoot,
})

async function start(own: OwnWithProxy, folders: ProgramFolders, request: BoundProgram): Promise<SandboxProgram> {
  const { env, network, readable, signal } = request
  const proxy = network && (await startProxy({ ...own, image: own.proxyImage }, network))
  try {
    const container = await own.containers.start(
      {
        ...recipeOf(own, request, proxy?.id),
        env: { HOME: homeRoot, ...network?.env, ...env },
        isProgram: true,
        mounts: [workspaceMount(folders.workspace), ...programMounts(folders, readable), ...certificateMounts(network)],
      },
      { signal },
    )
    const exited = container.exited.then(
      ({ code, isOutOfMemory }) => ({ code, problem: isOutOfMemory ? outOfMemory(own.limits) : '' }),
      () => ({ code: null, problem: 'the Docker engine does not respond\n' }),
    )
    return supervised(
      {
        stdin: container.stdin,
        stdout: container.stdout,
        stderr: container.stderr,
        exited,
        terminate() {
          container.terminate()
          return true
        },
        kill: container.kill,
      },
      { folder: folders.workspace, limits: own.limits, signal, ended: async () => proxy?.end() },
    )
  } catch (error) {
    proxy?.end()
    throw error
  }
}
