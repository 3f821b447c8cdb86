import type { Command } from 'commander'
import { type Client, createClient } from '../client/client.ts'
import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import { createOut, type Out, type Sink } from './out.ts'
import { serviceUrl } from './parse.ts'

/** What a command may be given besides its arguments: secrets, which do not belong on a command line. */
interface Input {
  readonly isTerminal: boolean
  /** All of it, to its end. */
  read(): Promise<string>
  /** One line that the terminal does not show; only where there is one. */
  readHidden?(): Promise<string>
}

/** All that the commands take from the process. */
export interface World {
  readonly env: ServerInputs['env']
  readonly nodeVersion: string
  readonly stdin: Input
  readonly stdout: Sink
  readonly stderr: Sink
  readonly isTerminal: boolean
  /** Standard error is a terminal. */
  readonly isErrorTerminal: boolean
  readonly hasColours: boolean
  /** Aborts when the user or the system asks the command to end. */
  readonly stop: AbortSignal
  /** Calls back for each SIGHUP; undefined where that means that the terminal is gone, and the program with it. */
  readonly onHangUp: ((listener: () => void) => void) | undefined
  readonly server: LocalService
  readonly fetch: typeof fetch
  readonly nowMs: () => number
}

/** Options that every command takes. */
export interface GlobalOptions {
  readonly url?: string
  readonly key?: string
  readonly json?: boolean
  /** Of the commands that may use the server of this package. */
  readonly dataDir?: string
}

/** What a command works with, made from its options. */
export interface Tools {
  readonly client: Client
  readonly out: Out
  /** The user named the service, by option or variable. */
  readonly isUrlGiven: boolean
}

export const defaultUrl = 'http://127.0.0.1:4000'

/** The tools of one command line. */
export async function toolsOf(world: World, { url, key, json = false, dataDir }: GlobalOptions): Promise<Tools> {
  const { env, fetch } = world
  const given = url ?? urlOfEnvironment(env)
  const baseUrl = given ?? (await urlOfRunning(world, dataDir)) ?? urlOfPort(env)
  const secret = key ?? (env['SWITCHYARD_KEY'] || env['GATEWAY_MASTER_KEY'] || undefined)
  const out = outOf(world, json)
  return {
    client: createClient({ baseUrl, key: secret, fetch, onIgnored: warnOfIgnored(out) }),
    out,
    isUrlGiven: given !== undefined,
  }
}

/** Warns of fields that a request had and the service did not use. */
export const warnOfIgnored = (out: Out) => (names: string) => out.warning(`the service ignored ${names}`)

/** The service that runs on the data folder of this command line. */
async function urlOfRunning({ server, env }: World, dataDir: string | undefined): Promise<string | undefined> {
  const [running] = await server.findRunning({ env, overrides: dataDir === undefined ? {} : { dataDir } })
  return running?.url
}

/** Where a service of this environment listens. */
function urlOfPort({ PORT: port }: ServerInputs['env']): string {
  return port && /^\d{1,5}$/.test(port) && port !== '0' ? `http://127.0.0.1:${port}` : defaultUrl
}

function urlOfEnvironment({ SWITCHYARD_URL: text }: ServerInputs['env']): string | undefined {
  if (!text) return undefined
  try {
    return serviceUrl(text)
  } catch {
    throw new CommandFailed(
      `SWITCHYARD_URL is "${text}". It must be an address such as ${defaultUrl}.`,
      exitCodes.usage,
    )
  }
}

export const outOf = ({ stdout, stderr, isTerminal, hasColours }: World, isJson: boolean): Out =>
  createOut({ stdout, stderr, isJson, isTerminal, hasColours })

/** A command's work with its tools, the options of its command line, and its arguments in order. */
export type Work<O extends object> = (
  tools: Tools,
  options: O & GlobalOptions,
  args: readonly string[],
) => Promise<number>

/** Where commands are registered: gives commander an action that does `work` and keeps its exit code. */
export interface Registry {
  readonly world: World
  doing<O extends object>(work: Work<O>): (...parameters: unknown[]) => Promise<void>
}

/** The end of a command's help. */
export function withExamples(command: Command, lines: readonly string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${lines.map(line => `  $ ${line}`).join('\n')}`)
}
