import { readFile, rm, writeFile } from 'node:fs/promises'
import type { EgressSession } from '../egress/inner-host.ts'
import { runChild } from '../platform/child-process.ts'
import { AppError } from '../platform/errors.ts'
import { type Json, listOf, nonEmptyText, recordOf, textOf } from '../platform/json.ts'
import { untilAborted } from '../platform/until-aborted.ts'
import { linked } from './network-link.ts'
import {
  networkFolderOf,
  type SandboxBase,
  type SandboxDriver,
  type SandboxNetwork,
  type SetupRequest,
} from './sandbox.ts'
import { deleteTree, foldersOf, makeWorkspace, setupMarkerOf, workspaceOf } from './session-folders.ts'
import { setupDigest } from './setup.ts'

interface Wish {
  readonly image: string | undefined
  readonly commands: readonly string[]
}

/** Returns `config.sandbox` of an agent; undefined if it needs nothing besides the default. */
function wishOf(config: Json): Wish | undefined {
  const sandbox = recordOf(config['sandbox'])
  const image = nonEmptyText(sandbox['image'])
  const commands = listOf(sandbox['setup']).map(textOf)
  return image === undefined && commands.length === 0 ? undefined : { image, commands }
}

interface Deps {
  readonly driver: SandboxDriver
  /** Folder of the workspaces. */
  readonly root: string
  readonly networkOf: (session: EgressSession) => SandboxNetwork | undefined
  /** Reports whether agents may name the image. */
  readonly isAllowed: (image: string) => boolean
}

/** Finds what sessions start from: the image and the set-up of their agent. */
export function createSessionBases({ driver, root, networkOf, isAllowed }: Deps) {
  const stopping = new AbortController()
  /** Set-ups that run, by digest: sessions of one agent share them. */
  const running = new Map<string, Promise<SandboxBase>>()

  async function run(session: EgressSession, request: Omit<SetupRequest, 'signal' | 'network'>): Promise<SandboxBase> {
    const { setUp } = driver
    if (!setUp) {
      if (request.image === undefined || request.commands.length > 0 || !driver.hasImages) throw unsupported(driver)
      return { image: request.image }
    }
    // A separate id: a set-up may outlive the session that starts it, and has none of its grants.
    const id = `setup-${request.digest}`
    const network = request.commands.length > 0 ? networkOf({ ...session, id }) : undefined
    try {
      return await linked({ driver, network }, link => setUp({ ...request, network: link, signal: stopping.signal }))
    } finally {
      await rm(networkFolderOf(workspaceOf(root, id)), { recursive: true, force: true })
    }
  }

  return {
    /**
     * Runs the set-up of the session's agent unless its result is cached. An abort ends the wait; the set-up continues.
     * Errors: `SetupFailed`, `unavailable`, `invalid_request`.
     */
    async baseOf(session: EgressSession, signal?: AbortSignal): Promise<SandboxBase | undefined> {
      const wish = wishOf(session.config)
      if (!wish) return undefined
      if (wish.image !== undefined && !isAllowed(wish.image))
        throw new AppError(
          'invalid_request',
          `config.sandbox.image ${wish.image} is not allowed on this server any more`,
        )
      const digest = setupDigest({ ...wish, owner: session.owner_id, network: session.config['network'] })
      const workspace = workspaceOf(root, session.id)
      const { home } = foldersOf(workspace)
      if ((await markerOf(workspace)) === digest) return { home }
      let work = running.get(digest)
      if (!work) {
        work = run(session, { ...wish, digest }).finally(() => running.delete(digest))
        running.set(digest, work)
      }
      const base = await untilAborted(work, signal, cancelled)
      if (base.home === undefined) return base
      await copyHome(base.home, { workspace, home, digest, owner: driver.owner })
      return { home }
    },

    /** Ends all set-ups. */
    async stop(): Promise<void> {
      stopping.abort()
      await Promise.allSettled(running.values())
    },
  }
}

const cancelled = () => new AppError('unavailable', 'cancelled during config.sandbox.setup')

const unsupported = ({ detail }: SandboxDriver) =>
  new AppError('unavailable', `config.sandbox is not supported by the sandbox of this server: ${detail}`)

const markerOf = (workspace: string): Promise<string | undefined> =>
  readFile(setupMarkerOf(workspace), 'utf8').catch(() => undefined)

interface Copy {
  readonly workspace: string
  readonly home: string
  readonly digest: string
  readonly owner: number | undefined
}

/** Copies the files of a set-up into the home of a session. The marker is written last: a crash repeats the copy. */
async function copyHome(source: string, { workspace, home, digest, owner }: Copy): Promise<void> {
  await deleteTree(home)
  await makeWorkspace(home, owner)
  await runChild('/bin/cp', ['-a', '--reflink=auto', '--', `${source}/.`, home], { env: {} })
  await writeFile(setupMarkerOf(workspace), digest)
}
