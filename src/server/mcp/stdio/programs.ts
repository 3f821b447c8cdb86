import type { EgressSession } from '../../egress/inner-host.ts'
import { AppError } from '../../platform/errors.ts'
import type { Json } from '../../platform/json.ts'
import type { Log } from '../../platform/log.ts'
import type { ProgramPlace, SandboxProgram } from '../../sandboxes/sandbox.ts'
import type { Sandboxes } from '../../sandboxes/sandboxes.ts'
import type { Vault } from '../../vault/vault.ts'
import { scrubber } from '../client/authorize.ts'
import { RpcFailure } from '../client/json-rpc.ts'
import type { RegisteredServer } from '../registry/server.ts'
import { connectStdio, type StdioConnection } from './connection.ts'
import { type Greeting, greet } from './handshake.ts'

interface Command {
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

interface Deps {
  readonly sandboxes: Pick<Sandboxes, 'open'>
  /** Starts a command at a place of a sandbox. */
  readonly startCommand: (place: ProgramPlace, command: Command) => Promise<SandboxProgram>
  readonly vault: Pick<Vault, 'value'>
  readonly log: Pick<Log, 'warn' | 'info'>
  readonly nowMs: () => number
}

/** A program that answers. */
export interface RunningServer extends Greeting {
  readonly connection: StdioConnection
  /** Removes the values of vault entries from a text. */
  readonly scrub: (text: string) => string
}

export interface ProgramUse {
  readonly running: RunningServer
  readonly release: () => void
}

/** Why a program cannot start again yet. */
interface EarlyEnd {
  readonly count: number
  readonly untilMs: number
  readonly message: string
}

interface Entry {
  readonly version: number
  readonly opened: Promise<RunningServer>
  readonly stop: () => Promise<void>
  users: number
  idle: NodeJS.Timeout | undefined
}

const idleMs = 10 * 60_000
/** A program that has run for this long was healthy. */
const healthyMs = 60_000
const firstPauseMs = 1_000
const maxPauseMs = 60_000
const maxLoggedErrors = 4_096

/**
 * Programs of `stdio` servers: one per server, started for the first call, ended when idle. A program that ends by itself
 * starts again for the next call, after a pause that doubles with each early end.
 */
export type StdioPrograms = ReturnType<typeof createStdioPrograms>

export function createStdioPrograms({ sandboxes, startCommand, vault, log, nowMs }: Deps) {
  const entries = new Map<string, Entry>()
  const ends = new Map<string, EarlyEnd>()
  /** Programs that are being stopped, by server. */
  const stopping = new Map<string, Promise<void>>()
  let isClosed = false

  async function open(server: RegisteredServer, stopped: Promise<unknown>): Promise<[SandboxProgram, RunningServer]> {
    const { server_name: name, stdio } = server
    if (!stdio) throw new Error(`MCP server ${name} is not a program (bug)`)
    // Two programs of a server must not write to its workspace at once.
    await stopped
    const secrets = await secretsOf(server)
    const place = await placeOf(server)
    const command = { command: stdio.command, env: { ...stdio.env, ...secrets } }
    const program = await startCommand(place, command).catch((cause: unknown) => {
      throw unreachable(`MCP server ${name} cannot be started: ${(cause as Error).message}`, cause)
    })
    const scrubLog = scrubber(Object.values(command.env))
    const startedMs = nowMs()
    void program.exited.then(({ code }) => {
      const errors = scrubLog(program.errors()).trim().slice(-maxLoggedErrors)
      log.info({ server: name, code, seconds: Math.round((nowMs() - startedMs) / 1_000), errors }, 'MCP program ended')
    })
    const connection = connectStdio({ name, input: program.stdout, output: program.stdin })
    // A program that has closed its output, or sent a message that cannot be read, is of no use any more.
    void connection.closed.then(() => program.stop())
    try {
      const greeting = await greet(connection, name)
      return [program, { ...greeting, connection, scrub: scrubber(Object.values(secrets)) }]
    } catch (error) {
      await program.stop()
      const text = scrubLog(program.errors()).trim().slice(-500)
      throw notReady(name, error, text)
    }
  }

  async function placeOf({ server_name: name, stdio }: RegisteredServer): Promise<ProgramPlace> {
    try {
      const sandbox = await sandboxes.open(`mcp-${name}`, stdio?.network && sessionOf(name, stdio.network))
      return await sandbox.programPlace(stdio?.isolation ?? 'sandbox')
    } catch (cause) {
      const reason = (cause as Error).message
      throw new AppError(
        'unavailable',
        `MCP server ${name} cannot be started: ${reason}; or set sandbox: none to run it with the rights of the service`,
        { cause },
      )
    }
  }

  async function secretsOf({ server_name, stdio }: RegisteredServer): Promise<Record<string, string>> {
    const found: Record<string, string> = {}
    for (const [variable, name] of Object.entries(stdio?.vaultEnv ?? {})) {
      const value = await vault.value({ name, ownerId: undefined })
      if (value === undefined)
        throw unreachable(`MCP server ${server_name} needs the vault entry ${name}, which does not exist`)
      found[variable] = value
    }
    return found
  }

  function add(server: RegisteredServer): Entry {
    const { server_id: id, version } = server
    const opening = open(server, stopping.get(id) ?? Promise.resolve())
    const startedMs = nowMs()
    let isStopped = false
    const entry: Entry = {
      version,
      opened: opening.then(([, running]) => running),
      users: 0,
      idle: undefined,
      async stop() {
        isStopped = true
        clearTimeout(entry.idle)
        if (entries.get(id) === entry) entries.delete(id)
        const [program] = (await opening.catch(() => undefined)) ?? []
        await program?.stop()
      },
    }
    const ended = (message: string): void => {
      if (entries.get(id) === entry) entries.delete(id)
      clearTimeout(entry.idle)
      if (isStopped) return
      const count = nowMs() - startedMs >= healthyMs ? 1 : (ends.get(id)?.count ?? 0) + 1
      ends.set(id, { count, message, untilMs: nowMs() + Math.min(maxPauseMs, firstPauseMs * 2 ** (count - 1)) })
    }
    opening
      .then(([program]) => program.exited)
      .then(
        ({ code }) =>
          ended(`MCP server ${server.server_name} ended ${code === null ? 'by a signal' : `with code ${code}`}`),
        (error: Error) => ended(error.message),
      )
    entries.set(id, entry)
    return entry
  }

  function stop(id: string, entry: Entry): void {
    const done = entry.stop().finally(() => {
      if (stopping.get(id) === done) stopping.delete(id)
    })
    stopping.set(id, done)
  }

  /** Returns the program of the current settings. */
  function entryOf(server: RegisteredServer): Entry {
    const { server_id: id, version } = server
    if (isClosed) throw new AppError('unavailable', 'the process stops; retry after 1 s')
    const known = entries.get(id)
    if (known?.version === version) return known
    if (known) stop(id, known)
    const last = ends.get(id)
    const waitMs = (last?.untilMs ?? 0) - nowMs()
    // Changed settings may be the repair.
    if (!known && last && waitMs > 0)
      throw unreachable(`${last.message}; it starts again in ${Math.ceil(waitMs / 1_000)} s`)
    return add(server)
  }

  return {
    /** Returns the program of a server, starting it first; it is in use until `release`. */
    async take(server: RegisteredServer): Promise<ProgramUse> {
      const entry = entryOf(server)
      entry.users++
      clearTimeout(entry.idle)
      let isReleased = false
      const release = (): void => {
        if (isReleased) return
        isReleased = true
        entry.users--
        if (entry.users > 0 || entries.get(server.server_id) !== entry) return
        entry.idle = setTimeout(() => stop(server.server_id, entry), idleMs)
        entry.idle.unref()
      }
      try {
        return { running: await entry.opened, release }
      } catch (error) {
        release()
        throw error
      }
    },

    async close(): Promise<void> {
      isClosed = true
      for (const [id, entry] of entries) stop(id, entry)
      await Promise.allSettled(stopping.values())
    },
  }
}

/** Returns what the sandbox of a program is to the network: a session without an agent. */
const sessionOf = (name: string, network: Json): EgressSession => ({
  ...{ id: `mcp-${name}`, owner_id: '', agent_id: '', environment: {} },
  config: { network },
  networkSetting: { field: 'network', owner: `MCP server ${name}` },
})

const unreachable = (message: string, cause?: unknown): AppError =>
  new AppError('upstream_unreachable', message, { cause })

function notReady(name: string, error: unknown, text: string): AppError {
  const why =
    error instanceof RpcFailure
      ? `rejected initialize: ${error.message}`
      : error instanceof AppError
        ? error.message.replace(`MCP server ${name} `, '')
        : 'did not answer initialize in time'
  return unreachable(`MCP server ${name} ${why}${text === '' ? '' : ` (${text})`}`, error)
}
