import { Argument, type Command, Option } from 'commander'
import { apiSpecs, type HarnessCreate } from '../contract/runtimes.ts'
import { destroying, yesOption } from './confirm.ts'
import { someText } from './parse.ts'
import { addTestCommand } from './runtime-suite/options.ts'
import { addRuntime, checkRuntime, connectRuntime, disconnectRuntime, listRuntimes, removeRuntime } from './runtimes.ts'
import { hiddenSecretOf } from './secret-input.ts'
import { type Registry, withExamples } from './world.ts'

/** Source of a key. A key is never an argument, because other users can read the process list. */
interface KeyOptions {
  readonly apiKeyEnv?: string
}

interface ConnectOptions extends KeyOptions {
  readonly base?: string
}

interface AddOptions extends KeyOptions {
  readonly spec: HarnessCreate['api_spec']
  readonly base: string
  readonly name?: string
  readonly fromStdin?: boolean
}

const runtimeId = () => new Argument('<id>', 'such as cursor or claude_managed_agents').argParser(someText)
const alias = () => new Argument('<alias>', 'name for agents and sessions').argParser(someText)
const keyOfVariable = () => new Option('--from-env, --api-key-env <name>', 'environment variable with the key')

/** Adds `runtimes`. */
export function addRuntimeCommands(program: Command, registry: Registry): void {
  const runtimes = program.command('runtimes').description('runtimes of agents, and their credentials')
  addCredentials(runtimes, registry)
  addHarnesses(runtimes, registry)
  addTestCommand(runtimes, registry)
  withExamples(runtimes, ['switchyard runtimes list', 'switchyard runtimes connect cursor'])
}

function addCredentials(runtimes: Command, registry: Registry): void {
  const { world, doing } = registry
  const list = runtimes
    .command('list')
    .alias('ls')
    .description('list all runtimes and their connection')
    .action(doing(({ client, out }) => listRuntimes(client, out)))
  withExamples(list, ['switchyard runtimes list', 'switchyard runtimes list --json'])
  const connect = runtimes
    .command('connect')
    .description('store the key of a built-in runtime, from a prompt or standard input; requires an admin key')
    .addArgument(runtimeId())
    .addOption(keyOfVariable())
    .option('--base <address>', "address that the key is sent to; default: the runtime's own")
    .action(
      doing<ConnectOptions>(async ({ client, out }, { apiKeyEnv, base }, [id = '']) => {
        const api_key = await hiddenSecretOf(world, apiKeyEnv, out)
        return connectRuntime(client, { id, body: { api_key, ...(base !== undefined && { api_base: base }) } }, out)
      }),
    )
  withExamples(connect, [
    'switchyard runtimes connect cursor',
    'switchyard runtimes connect claude_managed_agents --api-key-env ANTHROPIC_API_KEY',
  ])
  const disconnect = runtimes
    .command('disconnect')
    .description('remove the key of a built-in runtime; requires an admin key')
    .addArgument(runtimeId())
    .option(...yesOption)
    .action(
      destroying(
        registry,
        ([id]) => `remove the key of ${id}`,
        ({ client, out }, _, [id = '']) => disconnectRuntime(client, { id }, out),
      ),
    )
  withExamples(disconnect, ['switchyard runtimes disconnect cursor --yes'])
  const check = runtimes
    .command('check')
    .description('check that a runtime responds and accepts the key; exit code 1 if not; requires an admin key')
    .addArgument(new Argument('<id>', 'built-in id or alias').argParser(someText))
    .action(doing(({ client, out }, _, [id = '']) => checkRuntime(client, { id }, out)))
  withExamples(check, ['switchyard runtimes check cursor'])
}

function addHarnesses(runtimes: Command, registry: Registry): void {
  const { world, doing } = registry
  const add = runtimes
    .command('add')
    .description('register a harness; requires an admin key')
    .addArgument(alias())
    .addOption(new Option('--spec <spec>', 'protocol of the harness').choices(apiSpecs).makeOptionMandatory())
    .requiredOption('--base <address>', 'address of the harness; the key is sent only there')
    .option('--name <text>', 'display name; default: the alias')
    .addOption(keyOfVariable().conflicts('fromStdin'))
    .option('--from-stdin', 'read the key from a prompt or standard input; no key by default')
    .action(
      doing<AddOptions>(async ({ client, out }, { spec, base, name, apiKeyEnv, fromStdin }, [alias = '']) => {
        const isKeyed = apiKeyEnv !== undefined || fromStdin
        const body = {
          alias,
          api_spec: spec,
          api_base: base,
          ...(name !== undefined && { display_name: name }),
          ...(isKeyed && { api_key: await hiddenSecretOf(world, apiKeyEnv, out) }),
        }
        return addRuntime(client, { body }, out)
      }),
    )
  withExamples(add, [
    'switchyard runtimes add oc --spec opencode --base https://opencode.example.com --api-key-env OPENCODE_PASSWORD',
    'switchyard runtimes add second --spec claude_managed_agents --base https://api.anthropic.com --from-stdin',
  ])
  const remove = runtimes
    .command('remove')
    .description('remove a registered harness; requires an admin key')
    .addArgument(alias())
    .option(...yesOption)
    .action(
      destroying(
        registry,
        ([id]) => `remove harness ${id}`,
        ({ client, out }, _, [id = '']) => removeRuntime(client, { id }, out),
      ),
    )
  withExamples(remove, ['switchyard runtimes remove oc --yes'])
}
