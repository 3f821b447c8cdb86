import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import type { ModelParams } from '../contract/model-settings.ts'
import type { ProviderWrite } from '../contract/providers.ts'
import { destroying, yesOption } from './confirm.ts'
import { modelFinder, providerFinder } from './finders.ts'
import { addModel, listModels, removeModel } from './model-settings.ts'
import { NameArgument } from './names.ts'
import type { Out } from './out.ts'
import { someText, wholeNumber } from './parse.ts'
import { listProviders, removeProvider, setProvider, testProvider } from './providers.ts'
import { secretOf, secretOfVariable } from './secret-input.ts'
import { type Registry, type World, withExamples } from './world.ts'

/** Source of a key. A key is never an argument, because other users can read the process list. */
interface KeyOptions {
  readonly fromEnv?: string
}

interface SetOptions extends KeyOptions {
  readonly apiBase?: string
  readonly keyless?: boolean
  readonly awsFromEnv?: boolean
  readonly region?: string
  readonly project?: string
  readonly location?: string
}

interface AddOptions extends KeyOptions {
  readonly fromStdin?: boolean
  readonly apiBase?: string
  readonly param?: Readonly<Record<string, unknown>>
}

const providerId = () => new NameArgument('<provider>', 'such as anthropic, openai or bedrock', providerFinder)
const fromEnv = () => new Option('--from-env <name>', 'environment variable with the key; default: standard input')

/** Adds `providers` and `models`. */
export function addModelCommands(program: Command, registry: Registry): void {
  addProviders(program, registry)
  addModels(program, registry)
}

function addProviders(program: Command, registry: Registry): void {
  const { world, doing } = registry
  const providers = program.command('providers').description('credentials of model providers; requires an admin key')
  const list = providers
    .command('list')
    .alias('ls')
    .description('list all providers and their connection')
    .action(doing(({ client, out }) => listProviders(client, out)))
  withExamples(list, ['switchyard providers list', 'switchyard providers list --json'])
  const set = providers
    .command('set')
    .description('store the credential of a provider, replacing the previous one')
    .addArgument(providerId())
    .addOption(fromEnv())
    .option('--keyless', 'the server does not require a key')
    .option('--api-base <address>', "address that the key is sent to; default: the provider's own")
    .option('--region <name>', 'Amazon: region')
    .option('--aws-from-env', 'Amazon: read AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN')
    .option('--project <id>', "Google: project; default: the service account's own")
    .option('--location <name>', 'Google: location; default: global')
    .action(
      doing<SetOptions>(async ({ client, out }, options, [id = '']) =>
        setProvider(client, { providerId: id, body: await credentialOf(world, options, out) }, out),
      ),
    )
  withExamples(set, [
    'switchyard providers set anthropic < key.txt',
    'switchyard providers set openai --from-env OPENAI_API_KEY',
    'switchyard providers set bedrock --region us-east-1 --aws-from-env',
    'switchyard providers set vertex --location europe-west4 < service-account.json',
  ])
  const test = providers
    .command('test')
    .description('check whether a provider accepts the credential; exit code 1 if not')
    .addArgument(providerId())
    .action(doing(({ client, out }, _, [id = '']) => testProvider(client, { providerId: id }, out)))
  withExamples(test, ['switchyard providers test anthropic'])
  const remove = providers
    .command('remove')
    .description('remove the stored credential of a provider')
    .addArgument(providerId())
    .option(...yesOption)
    .action(
      destroying(
        registry,
        ([id]) => `remove the credential of ${id}`,
        ({ client, out }, _, [id = '']) => removeProvider(client, { providerId: id }, out),
      ),
    )
  withExamples(remove, ['switchyard providers remove openai --yes'])
  withExamples(providers, ['switchyard providers list', 'switchyard providers set anthropic < key.txt'])
}

async function credentialOf(world: World, options: SetOptions, out: Out): Promise<ProviderWrite> {
  const { apiBase, region, project, location, keyless, awsFromEnv, fromEnv: variable } = options
  const places = { api_base: apiBase, aws_region_name: region, vertex_project: project, vertex_location: location }
  const given = Object.fromEntries(Object.entries(places).filter(([, value]) => value !== undefined))
  if (keyless) return given
  return { ...given, ...(awsFromEnv ? awsOf(world) : keyOf(await secretOf(world, variable, out))) }
}

function awsOf({ env }: World): ProviderWrite {
  const session = env['AWS_SESSION_TOKEN']?.trim()
  return {
    aws_access_key_id: secretOfVariable({ env }, 'AWS_ACCESS_KEY_ID'),
    aws_secret_access_key: secretOfVariable({ env }, 'AWS_SECRET_ACCESS_KEY'),
    ...(session && { aws_session_token: session }),
  }
}

/** A service account is JSON; every other key is a plain string. */
const keyOf = (secret: string) => (secret.startsWith('{') ? { vertex_credentials: secret } : { api_key: secret })

function addModels(program: Command, registry: Registry): void {
  const { world, doing } = registry
  const models = program.command('models').description('configured models; requires an admin key')
  const list = models
    .command('list')
    .alias('ls')
    .description('list configured models, including those of the configuration file')
    .option('--limit <n>', 'maximum number of results', wholeNumber({ min: 1, max: 200 }), 200)
    .option('--cursor <text>', 'cursor of the next page')
    .action(
      doing<{ limit: number; cursor?: string }>(({ client, out }, { limit, cursor }) =>
        listModels(client, { limit, cursor }, out),
      ),
    )
  withExamples(list, ['switchyard models list', 'switchyard models list --json'])
  const add = models
    .command('add')
    .description("add a model; without a separate key it uses its provider's key")
    .addArgument(new Argument('<name>', 'name for clients').argParser(someText))
    .addArgument(new Argument('<model>', '<provider>/<name upstream>').argParser(someText))
    .addOption(fromEnv().conflicts('fromStdin'))
    .option('--from-stdin', 'read the key from standard input')
    .option('--api-base <address>', "address of the model server; default: the provider's own")
    .option('--param <name=value>', 'parameter as in the configuration file; repeatable', parameter)
    .action(
      doing<AddOptions>(async ({ client, out }, options, [name = '', model = '']) =>
        addModel(client, { name, params: { model, ...(await paramsOf(world, options, out)) } }, out),
      ),
    )
  withExamples(add, [
    'switchyard models add opus anthropic/claude-opus-5',
    'switchyard models add fast openai-compatible/qwen3 --api-base https://vllm.example.com/v1 --from-env VLLM_KEY',
    'switchyard models add sonnet bedrock/us.anthropic.claude-sonnet-5 --param weight=3 --param rpm=60',
  ])
  const remove = models
    .command('remove')
    .description('remove an added model; calls in flight finish')
    .addArgument(new NameArgument('<model>', 'id or name of the model as shown by "models list"', modelFinder))
    .option(...yesOption)
    .action(
      destroying(
        registry,
        ([id]) => `remove model ${id}`,
        ({ client, out }, _, [id = '']) => removeModel(client, { modelId: id }, out),
      ),
    )
  withExamples(remove, ['switchyard models remove dep_0199 --yes'])
  withExamples(models, ['switchyard models list', 'switchyard models add opus anthropic/claude-opus-5'])
}

async function paramsOf(world: World, options: AddOptions, out: Out): Promise<ModelParams> {
  const { fromEnv: variable, fromStdin, apiBase, param } = options
  const isKeyed = variable !== undefined || fromStdin
  return {
    ...param,
    ...(apiBase !== undefined && { api_base: apiBase }),
    ...(isKeyed && keyOf(await secretOf(world, variable, out))),
  }
}

const secretNames = /^(api_key|headers|vertex_credentials|aws_(access_key_id|secret_access_key|session_token))$/

/** Parses `weight=3`; the value is JSON if it parses, else text. */
function parameter(text: string, before: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const [, name, value = ''] = /^(\w+)=(.+)$/s.exec(text) ?? []
  if (name === undefined) throw new InvalidArgumentError('It must be a name and a value, such as weight=3.')
  if (secretNames.test(name))
    throw new InvalidArgumentError(`${name} is a secret: use --from-env, --from-stdin or the API.`)
  return { ...before, [name]: jsonOrText(value) }
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
