import { Argument, Command, CommanderError, Option } from 'commander'
import { type Client, createClient } from '../client/client.ts'
import { apiVersion } from '../contract/api.ts'
import type { Environment, Overrides } from '../server/config.ts'
import { listAgents } from './agents.ts'
import { doctor } from './doctor.ts'
import { exitCodeHelp, exitCodes } from './exit-codes.ts'
import { exitCodeOf, reportFailure } from './failures.ts'
import { migrateDatabase } from './migrate.ts'
import { createOut, type Out, type Sink } from './out.ts'
import { duration, serviceUrl, someText, wholeNumber } from './parse.ts'
import { quickstart } from './quickstart.ts'
import { type LocalServer, serve } from './serve.ts'
import { listSessions, sendPrompt, stopSession, tailSession } from './sessions.ts'

/** All that the commands take from the process. */
export interface World {
  readonly env: Environment
  readonly nodeVersion: string
  readonly stdout: Sink
  readonly stderr: Sink
  readonly isTerminal: boolean
  readonly hasColours: boolean
  /** Aborts when the user or the system asks the command to end. */
  readonly stop: AbortSignal
  readonly server: LocalServer
  readonly fetch: typeof fetch
  readonly nowMs: () => number
}

/** Runs one command line, without the program's name. The exit code. */
export async function runCommandLine(args: readonly string[], world: World): Promise<number> {
  const ran: Ran = { code: exitCodes.ok, isJson: false }
  try {
    await programOf(world, ran).parseAsync(args, { from: 'user' })
    return ran.code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    reportFailure(outOf(world, ran.isJson), error)
    return exitCodeOf(error)
  }
}

/** What the command that was chosen leaves behind. */
interface Ran {
  code: number
  isJson: boolean
}

interface GlobalOptions {
  readonly url?: string
  readonly key?: string
  readonly json?: boolean
}

interface Tools {
  readonly client: Client
  readonly out: Out
  readonly isUrlGiven: boolean
}

const defaultUrl = 'http://127.0.0.1:4000'

const outOf = ({ stdout, stderr, isTerminal, hasColours }: World, isJson: boolean): Out =>
  createOut({ stdout, stderr, isJson, isTerminal, hasColours })

function programOf(world: World, ran: Ran): Command {
  const { stdout, stderr, server, stop, env } = world
  const program = new Command('switchyard')
    .exitOverride()
    .configureOutput({ writeOut: text => stdout.write(text), writeErr: text => stderr.write(text) })
    .configureHelp({ showGlobalOptions: true })
    .description('A self-hosted agent platform: models, agents and durable sessions behind one API.')
    .version(apiVersion)
    .addOption(new Option('--url <address>', `the service (SWITCHYARD_URL, else ${defaultUrl})`).argParser(serviceUrl))
    .option('--key <key>', 'the key (SWITCHYARD_KEY, else GATEWAY_MASTER_KEY); a variable keeps it out of process lists')
    .option('--json', 'print JSON for programs instead of text')
    .addHelpText('after', `${exitCodeHelp}\n\n${examples(['npm start', 'switchyard run "List the files"', 'switchyard sessions ls --json'])}`)

  /** An action that makes the tools from the options of its command line, and keeps the exit code. */
  const doing =
    <O extends object>(work: (tools: Tools, options: O & GlobalOptions, args: string[]) => Promise<number>) =>
    async (...parameters: unknown[]) => {
      const command = parameters.at(-1) as Command
      const options = command.optsWithGlobals<O & GlobalOptions>()
      ran.isJson = options.json ?? false
      ran.code = await work(toolsOf(world, options), options, command.args)
    }

  const serveCommand = program
    .command('serve')
    .description('run the service until it is told to stop')
    .option('--port <n>', 'port to listen on (PORT, else 4000)', wholeNumber({ min: 0, max: 65_535 }))
    .option('--host <address>', 'address to listen on (HOST)')
    .option('--insecure-no-auth', 'listen on other addresses than loopback without a master key')
    .action(
      doing<ServerOptions>(({ out }, options) => serve(server, { env, overrides: overridesOf(options), stop }, out)),
    )
  withServerOptions(serveCommand, ['npm start', 'switchyard serve --port 4100 --data-dir ./data', 'switchyard serve --config switchyard.yaml'])

  const runCommand = program
    .command('run')
    .description('start a session with one prompt and show what happens; starts a service for it when none runs')
    .addArgument(new Argument('<prompt>', 'what to do').argParser(someText))
    .option('--model <name>', 'the model; the first one listed that is not scripted, by default')
    .option('--agent <id>', 'run this agent')
    .option('--timeout <time>', 'stop the run after this time, such as 90s or 10m', duration)
    .action(
      doing<RunOptions>(({ client, out, isUrlGiven }, options, [prompt = '']) => {
        const { model, agent: agentId, timeout: timeoutMs } = options
        const run = { prompt, model, agentId, timeoutMs, stop, isUrlGiven }
        return quickstart({ client, server }, { ...run, env, overrides: overridesOf(options) }, out)
      }),
    )
  withServerOptions(runCommand, [
    'switchyard run "Write a haiku into haiku.txt"',
    'switchyard run "Fix the tests" --model anthropic/claude-sonnet-4-5 --timeout 10m',
    'npm run quickstart -- "What files are here?"',
  ])

  addSessionCommands(program, world, doing)

  const agents = program.command('agents').description('agents of the service')
  listOptions(agents.command('ls'), ['switchyard agents ls', 'switchyard agents ls --json'])
    .description('list agents, newest first')
    .action(doing<ListOptions>(({ client, out }, { limit, cursor }) => listAgents(client, { limit, cursor }, out)))

  const doctorCommand = program
    .command('doctor')
    .description('check what a service needs here, and say what to do; exit code 1 when something fails')
    .action(
      doing<ServerOptions>(({ client, out }, options) => {
        const { nodeVersion } = world
        return doctor({ client, server }, { nodeVersion, env, overrides: overridesOf(options) }, out)
      }),
    )
  withServerOptions(doctorCommand, ['switchyard doctor', 'switchyard doctor --json'])

  const migrateCommand = program
    .command('migrate')
    .description('bring the database to this version; every start of the service does that too')
    .option('--plan', 'only list what would be applied')
    .action(
      doing<ServerOptions & { plan?: boolean }>(({ out }, options) => {
        const mode = options.plan ? 'plan' : 'apply'
        return migrateDatabase(server, { env, overrides: overridesOf(options), mode }, out)
      }),
    )
  withServerOptions(migrateCommand, ['switchyard migrate --plan', 'DATABASE_URL=postgres://... switchyard migrate'])
  return program
}
