import { constants } from 'node:fs'
import { access, open } from 'node:fs/promises'
import { connect, type ListenOptions, type Socket } from 'node:net'
import { join } from 'node:path'
import { pathOf } from '../../platform/handle-path.ts'
import type { Log } from '../../platform/log.ts'
import type { Isolation, ProgramFolders, ProgramPlace, Sandbox, SandboxProgram } from '../../sandboxes/sandbox.ts'
import type { Sandboxes } from '../../sandboxes/sandboxes.ts'
import { type RunSession, RuntimeFailure } from '../runtime.ts'
import { findCommand } from './command-line.ts'
import { openGateway, type ProgramGateway, type ServeRequest } from './gateway-socket.ts'
import { connected, connectToSocket } from './program-socket.ts'
import type { RunGrant } from './run-grant.ts'
import { execCommand, gatewaySocket, programSocket, startScript } from './start-script.ts'

/** Where a program runs, and how it reaches the gateway. */
export interface Surroundings {
  /** Address of the gateway, without a path: `http://127.0.0.1:port`. */
  readonly gatewayUrl: string
  /** Valid while a run is granted to the program. */
  readonly gatewayKey: string
  /** As the program sees them. */
  readonly folders: ProgramFolders
  readonly isolation: Isolation
}

/** How a program is started. */
export interface Setup {
  /** An absolute path, a name in the system's folders, or `node`; then the arguments. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** File contents by path below HOME. */
  readonly homeFiles?: Readonly<Record<string, string>>
}

export interface ProgramRequest {
  /** Decides about its network; without it there is none. */
  readonly session?: RunSession | undefined
  readonly sessionId: string
  readonly isolation: Isolation
  /** Port on 127.0.0.1 that the program will listen on, for `connect`. Must not be 4000 in a sandbox. */
  readonly port?: number
  readonly setup: (surroundings: Surroundings) => Setup
}

/** Program of a session. It ends, with all its child processes, when its sandbox or the server ends. */
export interface LocalProgram extends SandboxProgram {
  readonly surroundings: Surroundings
  /** Allows the program to call models for a run; the returned function revokes it. One run at a time. */
  grant(run: RunGrant): () => void
  /** Connects to the program's port. Rejects, or closes at once, while the program does not listen. */
  connect(): Promise<Socket>
}

interface Deps {
  readonly sandboxes: Pick<Sandboxes, 'open'>
  readonly serve: ServeRequest
  readonly log: Pick<Log, 'debug'>
}

/** Starts programs of sessions, one at a time per session. */
export type LocalPrograms = ReturnType<typeof createLocalPrograms>

/** In the sandbox's own network. */
const gatewayPort = 4000

export function createLocalPrograms(deps: Deps) {
  return {
    /** Rejects with `RuntimeFailure` when the program does not exist or cannot be isolated. */
    async start({ sessionId, session, isolation, port, setup }: ProgramRequest): Promise<LocalProgram> {
      const sandbox = await deps.sandboxes.open(sessionId, session)
      const place = await placeIn(sandbox, isolation)
      if (!place.hasSockets) throw noSockets(sandbox)
      // Without the system of an image, the sandbox has that of the host.
      if (isolation === 'sandbox' && !place.hasOwnSystem) await access('/usr/bin/socat', constants.X_OK).catch(noSocat)
      const gateway = await gatewayFor(place, deps)
      try {
        const isInside = isolation === 'sandbox'
        const surroundings: Surroundings = {
          gatewayUrl: `http://127.0.0.1:${isInside ? gatewayPort : gateway.port}`,
          gatewayKey: gateway.key,
          folders: place.foldersInside,
          isolation,
        }
        const program = await startThere(place, setup(surroundings), port)
        void program.exited.then(() => gateway.close())
        return {
          ...program,
          surroundings,
          grant: run => gateway.grant(run),
          connect: () =>
            isInside
              ? connectToSocket(join(place.folders.sockets, programSocket))
              : connected(connect({ host: '127.0.0.1', port: port ?? 0 })),
        }
      } catch (error) {
        await gateway.close()
        throw error
      }
    },
  }
}

async function placeIn(sandbox: Sandbox, isolation: Isolation): Promise<ProgramPlace> {
  return await sandbox.programPlace(isolation).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new RuntimeFailure('model_request_failed_error', `cannot start the program: ${reason}`, { cause })
  })
}

const noSockets = ({ driver }: Sandbox) =>
  new RuntimeFailure(
    'model_request_failed_error',
    `cannot start the program: it needs sockets that it shares with the server, which a sandbox of ${driver} does not have; use sandbox: none, or the built-in runtime`,
  )

function noSocat(cause: unknown): never {
  throw new RuntimeFailure(
    'model_request_failed_error',
    'cannot start the program: socat is not in /usr/bin of this server; install it',
    { cause },
  )
}

/** Listens on a socket in the folder shared with the sandbox, or on a local port for a program without a sandbox. */
async function gatewayFor(place: ProgramPlace, { serve, log }: Deps): Promise<ProgramGateway> {
  if (place.isolation === 'none') return openGateway({ host: '127.0.0.1', port: 0 }, { serve, log })
  const { sockets } = place.folders
  const folder = await open(sockets, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    const path = `${pathOf(folder)}/${gatewaySocket}`
    const options: ListenOptions = { path, readableAll: true, writableAll: true }
    const gateway = await openGateway(options, { serve, log })
    // The folder stays open: on close the server removes the socket by this path, which must still point to it.
    const close = async () => {
      await gateway.close()
      await folder.close()
    }
    return { ...gateway, close }
  } catch (error) {
    await folder.close()
    throw error
  }
}

async function startThere(place: ProgramPlace, setup: Setup, port: number | undefined): Promise<SandboxProgram> {
  for (const [path, content] of Object.entries(setup.homeFiles ?? {})) await place.homeFiles.write(path, content)
  return await startCommand(place, setup, words =>
    place.isolation === 'sandbox'
      ? startScript({ words, sockets: place.foldersInside.sockets, gatewayPort, port })
      : execCommand(words),
  )
}

/** Starts a program at a place. Rejects with `RuntimeFailure` when it does not exist. */
export async function startCommand(
  place: ProgramPlace,
  { command, env }: Pick<Setup, 'command' | 'env'>,
  script: (words: readonly string[]) => string = execCommand,
): Promise<SandboxProgram> {
  const { words, readable, path } = await findCommand(command, place)
  return await place.start({
    command: script(words),
    env: { ...(path !== undefined && { PATH: path }), ...env },
    readable,
  })
}
