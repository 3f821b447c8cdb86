import type { Command } from 'commander'
import { type Client, createClient } from '../client/client.ts'
import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import { createOut, type Out, type Sink } from './out.ts'
import { serviceUrl } from './parse.ts'

/** Standard input, for secrets, which must not be arguments. */
interface Input {
  readonly isTerminal: boolean
  /** Reads all of it. */
  read(): Promise<string>
  /** Reads one line without echo; only on a terminal. */
  readHidden?(): Promise<string>
  /** Reads one line; only on a terminal. */
  readLine?(): Promise<string>
}

/** Everything that commands use of the process. */
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
  /** Columns of the terminal, or of COLUMNS; undefined: unlimited. */
  readonly columns?: number | undefined
  /** Aborts when the user or the system requests a stop. */
  readonly stop: AbortSignal
  /** Registers a listener for SIGHUP; undefined on a terminal, where SIGHUP ends the program. */
  readonly onHangUp: ((listener: () => void) => void) | undefined
  readonly server: LocalService
  readonly fetch: typeof fetch
  readonly nowMs: () => number
}

/** Options of every command. */
export interface GlobalOptions {
  readonly url?: string
  readonly key?: string
  readonly json?: boolean
  /** Only of commands that may start a local server. */
  readonly dataDir?: string
}

/** Client and output of a command, created from its options. */
export interface Tools {
  readonly client: Client
  readonly out: Out
  /** True when the user has set the address by option or variable. */
  readonly isUrlGiven: boolean
  /** Arguments as the user typed them: names and parts of ids. */
  readonly given: readonly string[]
}

export const defaultUrl = 'http://127.0.0.1:4000'

/** Returns the tools of one command line. */
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
    given: [],
  }
}

/** Returns a function that warns of request fields that the service ignored. */
export const warnOfIgnored = (out: Out) => (names: string) => out.warning(`the service ignored ${names}`)

/** Returns the address of the service that runs on the data folder of this command line. */
async function urlOfRunning({ server, env }: World, dataDir: string | undefined): Promise<string | undefined> {
  const [running] = await server.findRunning({ env, overrides: dataDir === undefined ? {} : { dataDir } })
  return running?.url
}

/** Returns the default address for this environment. */
function urlOfPort({ PORT: port }: ServerInputs['env']): string {
  return port && /^\d{1,5}$/.test(port) && port !== '0' ? `http://127.0.0.1:${port}` : defaultUrl
}

function urlOfEnvironment({ SWITCHYARD_URL: text }: ServerInputs['env']): string | undefined {
  if (!text) return undefined
  try {
    return serviceUrl(text)
  } catch {
    throw new CommandFailed(
      `SWITCHYARD_URL "${text}" is not an address; set an address such as ${defaultUrl}`,
      exitCodes.usage,
    )
  }
}

export const outOf = ({ stdout, stderr, isTerminal, hasColours, columns }: World, isJson: boolean): Out =>
  createOut({ stdout, stderr, isJson, isTerminal, hasColours, columns })

/** Implementation of a command: gets tools, options and arguments; returns the exit code. */
export type Work<O extends object> = (
  tools: Tools,
  options: O & GlobalOptions,
  args: readonly string[],
) => Promise<number>

/** Registers commands: `doing` returns an action for commander that runs `work` and stores its exit code. */
export interface Registry {
  readonly world: World
  doing<O extends object>(work: Work<O>): (...parameters: unknown[]) => Promise<void>
}

/** Appends examples to a command's help. */
export function withExamples(command: Command, lines: readonly string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${lines.map(line => `  $ ${line}`).join('\n')}`)
}
