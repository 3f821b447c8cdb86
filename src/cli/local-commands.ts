import { Argument, type Command } from 'commander'
import { doctor } from './doctor.ts'
import { agentFinder } from './finders.ts'
import type { ServerInputs } from './local-service.ts'
import { migrateDatabase } from './migrate.ts'
import { NameOption } from './names.ts'
import { duration, someText, wholeNumber } from './parse.ts'
import { quickstart } from './quickstart.ts'
import { secrets } from './secrets.ts'
import { serve } from './serve.ts'
import { type Registry, withExamples } from './world.ts'

/** Options of the commands that may start a local server. */
export interface ServerOptions {
  readonly config?: string
  readonly dataDir?: string
  readonly port?: number
  readonly host?: string
  readonly insecureNoAuth?: boolean
  /** False with `--no-wait`. */
  readonly wait?: boolean
  /** False with `--no-console`. */
  readonly console?: boolean
}

/** Adds `serve`, `run`, `doctor`, `migrate` and `secrets`. */
export function addLocalCommands(program: Command, registry: Registry): void {
  addServe(program, registry)
  addRun(program, registry)
  addDoctor(program, registry)
  addMigrate(program, registry)
  addSecrets(program, registry)
}

/** Returns what the options of a command override in the configuration. */
export function overridesOf({
  config,
  dataDir,
  port,
  host,
  insecureNoAuth,
  wait = true,
  console = true,
}: ServerOptions): ServerInputs['overrides'] {
  return {
    ...(config !== undefined && { configFile: config }),
    ...(dataDir !== undefined && { dataDir }),
    ...(port !== undefined && { port }),
    ...(host !== undefined && { host }),
    ...(insecureNoAuth !== undefined && { insecureNoAuth }),
    ...(!wait && { noWait: true }),
    ...(!console && { noConsole: true }),
  }
}

/** Adds the options that determine the database and the data folder. */
export const storageOptions = (command: Command): Command =>
  command
    .option('--config <file>', 'configuration file (SWITCHYARD_CONFIG)')
    .option('--data-dir <folder>', 'folder of the database and files (SWITCHYARD_DATA_DIR)')

const addressOptions = (command: Command): Command =>
  storageOptions(command)
    .option('--port <n>', 'port to listen on (PORT, default 4000)', wholeNumber({ min: 0, max: 65_535 }))
    .option('--host <address>', 'address to listen on (HOST); only loopback without a master key')
    .option('--insecure-no-auth', 'listen on any address without a master key')

function addServe(program: Command, { world, doing }: Registry): void {
  const { server, env, stop, onHangUp, isErrorTerminal: isLogRead } = world
  const command = addressOptions(program.command('serve'))
    .description('run the service until it is stopped')
    .option(
      '--no-wait',
      'exit immediately when the database of DATABASE_URL is unreachable, instead of retrying for 60 s',
    )
    .option('--no-console', 'neither build nor serve the web console; "/" redirects to the API reference')
    .action(
      doing<ServerOptions>(({ out }, options) =>
        serve(server, { env, overrides: overridesOf(options), stop, onHangUp, isLogRead }, out),
      ),
    )
  withExamples(command, [
    'npm start',
    'switchyard serve --port 4100 --data-dir ./data',
    'switchyard serve --config switchyard.yaml',
  ])
}

interface RunOptions extends ServerOptions {
  readonly model?: string
  readonly agent?: string
  readonly timeout?: number
}

function addRun(program: Command, { world, doing }: Registry): void {
  const { server, env, stop, fetch } = world
  const command = storageOptions(program.command('run'))
    .description('start a session with one prompt and print its events; starts a temporary service if none is running')
    .addArgument(new Argument('<prompt>', 'the task').argParser(someText))
    .option('--model <name>', 'model to use; default: a real model of medium price')
    .addOption(new NameOption('--agent <agent>', 'id or name of the agent to run', agentFinder))
    .option('--timeout <time>', 'stop the run after this time, such as 90s or 10m', duration)
    .action(
      doing<RunOptions>(({ client, out, isUrlGiven }, options, [prompt = '']) => {
        const { model, agent: agentId, timeout: timeoutMs } = options
        const run = { prompt, model, agentId, timeoutMs, stop, isUrlGiven }
        return quickstart({ client, server, fetch }, { ...run, env, overrides: overridesOf(options) }, out)
      }),
    )
  withExamples(command, [
    'switchyard run "Write a haiku into haiku.txt"',
    'switchyard run "Fix the tests" --model anthropic/claude-sonnet-4-5 --timeout 10m',
    'npm run quickstart -- "What files are here?"',
  ])
}

function addDoctor(program: Command, { world, doing }: Registry): void {
  const { server, env, nodeVersion } = world
  const command = addressOptions(program.command('doctor'))
    .description('check the requirements of the service and print next steps; exit code 1 when a check fails')
    .option('--deep', 'also check all stored data: reads every row; the service may run meanwhile')
    .action(
      doing<ServerOptions & { deep?: boolean }>(({ client, out }, options) => {
        const isDeep = options.deep ?? false
        return doctor({ client, server }, { nodeVersion, isDeep, env, overrides: overridesOf(options) }, out)
      }),
    )
  withExamples(command, [
    'switchyard doctor',
    'switchyard doctor --deep',
    'switchyard doctor --config switchyard.yaml --json',
  ])
}

function addMigrate(program: Command, { world, doing }: Registry): void {
  const { server, env } = world
  const command = storageOptions(program.command('migrate'))
    .description('apply pending database migrations, as every start of the service does')
    .option('--plan', 'only list pending migrations')
    .action(
      doing<ServerOptions & { plan?: boolean }>(({ out }, options) => {
        const mode = options.plan ? 'plan' : 'apply'
        return migrateDatabase(server, { env, overrides: overridesOf(options), mode }, out)
      }),
    )
  withExamples(command, ['switchyard migrate --plan', 'DATABASE_URL=postgres://user@host/name switchyard migrate'])
}

function addSecrets(program: Command, { world, doing }: Registry): void {
  const { server, env } = world
  const group = program.command('secrets').description('encryption keys: which are in use, and which can be removed')
  withExamples(group, ['switchyard secrets status'])
  const status = storageOptions(group.command('status'))
    .description('show how many values each key encrypts; exit code 1 when a key is missing')
    .action(
      doing<ServerOptions>(({ out }, options) =>
        secrets(server, { env, overrides: overridesOf(options), task: 'status' }, out),
      ),
    )
  withExamples(status, ['switchyard secrets status', 'switchyard secrets status --json'])
  const reencrypt = storageOptions(group.command('reseal'))
    .description('re-encrypt all values with the first key, as a running service does in the background')
    .action(
      doing<ServerOptions>(({ out }, options) =>
        secrets(server, { env, overrides: overridesOf(options), task: 'reseal' }, out),
      ),
    )
  withExamples(reencrypt, ['SWITCHYARD_ENCRYPTION_KEY="$NEW_KEY,$OLD_KEY" switchyard secrets reseal'])
  const forget = storageOptions(group.command('forget'))
    .description('delete the values of a lost key, so that the service can start without it')
    .addArgument(new Argument('<key-id>', 'id as shown by "secrets status"').argParser(someText))
    .requiredOption('--yes', 'confirm: deleted values cannot be restored')
    .action(
      doing<ServerOptions>(({ out }, options, [keyId = '']) =>
        secrets(server, { env, overrides: overridesOf(options), task: { forget: keyId } }, out),
      ),
    )
  withExamples(forget, ['switchyard secrets forget 1a2b3c4d --yes'])
}
