import { Argument, type Command } from 'commander'
import { doctor } from './doctor.ts'
import type { ServerInputs } from './local-service.ts'
import { migrateDatabase } from './migrate.ts'
import { duration, someText, wholeNumber } from './parse.ts'
import { quickstart } from './quickstart.ts'
import { secrets } from './secrets.ts'
import { serve } from './serve.ts'
import { type Registry, withExamples } from './world.ts'

/** Options of the commands that may use the server of this package. */
interface ServerOptions {
  readonly config?: string
  readonly dataDir?: string
  readonly port?: number
  readonly host?: string
  readonly insecureNoAuth?: boolean
  /** False with `--no-wait`. */
  readonly wait?: boolean
}

/** Adds `serve`, `run`, `doctor`, `migrate` and `secrets`. */
export function addLocalCommands(program: Command, registry: Registry): void {
  addServe(program, registry)
  addRun(program, registry)
  addDoctor(program, registry)
  addMigrate(program, registry)
  addSecrets(program, registry)
}

function overridesOf({
  config,
  dataDir,
  port,
  host,
  insecureNoAuth,
  wait = true,
}: ServerOptions): ServerInputs['overrides'] {
  return {
    ...(config !== undefined && { configFile: config }),
    ...(dataDir !== undefined && { dataDir }),
    ...(port !== undefined && { port }),
    ...(host !== undefined && { host }),
    ...(insecureNoAuth !== undefined && { insecureNoAuth }),
    ...(!wait && { noWait: true }),
  }
}

const storageOptions = (command: Command): Command =>
  command
    .option('--config <file>', 'configuration file (SWITCHYARD_CONFIG)')
    .option('--data-dir <folder>', 'folder of the database and the files (SWITCHYARD_DATA_DIR)')

const addressOptions = (command: Command): Command =>
  storageOptions(command)
    .option('--port <n>', 'port to listen on (PORT, else 4000)', wholeNumber({ min: 0, max: 65_535 }))
    .option('--host <address>', 'address to listen on (HOST; without a master key only loopback)')
    .option('--insecure-no-auth', 'listen on any address without a master key')

function addServe(program: Command, { world, doing }: Registry): void {
  const { server, env, stop, onHangUp, isErrorTerminal: isLogRead } = world
  const command = addressOptions(program.command('serve'))
    .description('run the service until it is stopped')
    .option(
      '--no-wait',
      'exit at once when the database of DATABASE_URL cannot be reached, instead of retrying for 60 s',
    )
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
    .description('start a session with one prompt and show what happens; when no service runs, one is started for it')
    .addArgument(new Argument('<prompt>', 'what to do').argParser(someText))
    .option('--model <name>', 'the model; the first one listed that is not scripted, by default')
    .option('--agent <id>', 'run this agent')
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
    .description('check what a service needs here, and say what to do; exit code 1 when something fails')
    .action(
      doing<ServerOptions>(({ client, out }, options) =>
        doctor({ client, server }, { nodeVersion, env, overrides: overridesOf(options) }, out),
      ),
    )
  withExamples(command, ['switchyard doctor', 'switchyard doctor --config switchyard.yaml --json'])
}

function addMigrate(program: Command, { world, doing }: Registry): void {
  const { server, env } = world
  const command = storageOptions(program.command('migrate'))
    .description('bring the database to this version; every start of the service does that too')
    .option('--plan', 'only list what would be applied')
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
  const group = program.command('secrets').description('encryption keys: which one seals how much, and which may go')
  const status = storageOptions(group.command('status'))
    .description('show how many values each key seals; exit code 1 when a key is missing')
    .action(
      doing<ServerOptions>(({ out }, options) =>
        secrets(server, { env, overrides: overridesOf(options), task: 'status' }, out),
      ),
    )
  withExamples(status, ['switchyard secrets status', 'switchyard secrets status --json'])
  const reseal = storageOptions(group.command('reseal'))
    .description('seal everything anew with the first key, as a running service does by itself')
    .action(
      doing<ServerOptions>(({ out }, options) =>
        secrets(server, { env, overrides: overridesOf(options), task: 'reseal' }, out),
      ),
    )
  withExamples(reseal, ['SWITCHYARD_ENCRYPTION_KEY="$NEW_KEY,$OLD_KEY" switchyard secrets reseal'])
  const forget = storageOptions(group.command('forget'))
    .description('delete what a lost key has sealed, so that the service starts without it')
    .addArgument(new Argument('<key-id>', 'as "secrets status" shows it').argParser(someText))
    .requiredOption('--yes', 'do it: what is deleted does not come back')
    .action(
      doing<ServerOptions>(({ out }, options, [keyId = '']) =>
        secrets(server, { env, overrides: overridesOf(options), task: { forget: keyId } }, out),
      ),
    )
  withExamples(forget, ['switchyard secrets forget 1a2b3c4d --yes'])
}
