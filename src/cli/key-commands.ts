import { type Command, Option } from 'commander'
import { type ApiKeyWrite, keyRoutes } from '../contract/keys.ts'
import { type NativeProvider, nativeProviders } from '../contract/native.ts'
import { destroying, yesOption } from './confirm.ts'
import { keyFinder, teamFinder, userFinder } from './finders.ts'
import { createKey, listKeys, revokeKey, rotateKey } from './keys.ts'
import { NameArgument, NameOption } from './names.ts'
import { dollars, someText, wholeNumber } from './parse.ts'
import { addRouteCommand } from './resources/route-command.ts'
import { details } from './resources/show.ts'
import { type Registry, withExamples } from './world.ts'

interface ListOptions {
  readonly limit: number
  readonly cursor?: string
  readonly owner?: string
  readonly all?: boolean
}

interface CreateOptions {
  readonly label?: string
  readonly owner?: string
  readonly user?: string
  readonly team?: string
  readonly role?: 'user' | 'admin' | 'viewer'
  readonly model?: readonly string[]
  readonly passthrough?: readonly NativeProvider[]
  readonly cache?: string
  readonly logBodies?: string
  readonly budget?: number
  readonly per?: string
  readonly warnAt?: number
  readonly expiresIn?: string
  readonly rpm?: number
  readonly tpm?: number
  readonly parallel?: number
}

const keyId = () => new NameArgument('<key>', 'id or label of the key', keyFinder)
const count = wholeNumber({ min: 1, max: 2_147_483_647 })

/** Adds `keys`. */
export function addKeyCommands(program: Command, registry: Registry): void {
  const keys = program.command('keys').description('virtual keys; requires the master key or a key of role admin')
  addList(keys, registry)
  addCreate(keys, registry)
  const rotate = keys
    .command('rotate')
    .description('rotate a key and print the new secret once; the old secret ends immediately or after --grace')
    .addArgument(keyId())
    .option('--grace <time>', 'how long the old secret stays valid, such as 24h or 7d')
    .action(
      registry.doing<{ grace?: string }>(({ client, out }, { grace }, [id = '']) =>
        rotateKey(client, { keyId: id, grace }, out),
      ),
    )
  withExamples(rotate, ['switchyard keys rotate key_0199 --grace 24h'])
  const revoke = keys
    .command('revoke')
    .description('revoke a key permanently and close its open streams')
    .addArgument(keyId())
    .option(...yesOption)
    .action(
      destroying(
        registry,
        ([id]) => `revoke key ${id} permanently`,
        ({ client, out }, _, [id = '']) => revokeKey(client, { keyId: id }, out),
      ),
    )
  withExamples(revoke, ['switchyard keys revoke key_0199 --yes'])
  addRouteCommand(keys, registry, {
    name: 'show',
    route: keyRoutes.get,
    text: 'show a key, without its secret',
    args: [{ field: 'key_id', name: 'key', text: 'id or label of the key', finder: keyFinder }],
    show: details(),
    examples: ['switchyard keys show ci'],
  })
  withExamples(keys, ['switchyard keys create --label ci', 'switchyard keys ls'])
}

function addList(keys: Command, { world, doing }: Registry): void {
  const list = keys
    .command('ls')
    .alias('list')
    .description('list keys, newest first')
    .option('--limit <n>', 'maximum number of results', wholeNumber({ min: 1, max: 200 }), 50)
    .option('--cursor <text>', 'cursor of the next page')
    .option('--owner <name>', 'only keys of this owner')
    .option('--all', 'include revoked keys')
    .action(
      doing<ListOptions>(({ client, out }, { all = false, ...options }) =>
        listKeys(client, { ...options, all, nowMs: world.nowMs() }, out),
      ),
    )
  withExamples(list, ['switchyard keys ls', 'switchyard keys ls --owner ada --all --json'])
}

function addCreate(keys: Command, { doing }: Registry): void {
  const create = keys
    .command('create')
    .description('create a key and print it once')
    .option('--label <text>', 'label of the key')
    .option('--owner <name>', 'restrict the key to objects of this owner')
    .addOption(new NameOption('--user <user>', 'user or service account that the key belongs to', userFinder))
    .addOption(new NameOption('--team <team>', 'team that pays and whose models apply', teamFinder))
    .addOption(new Option('--role <role>', 'role of the key').choices(['user', 'admin', 'viewer']))
    .option('--model <name...>', 'allowed models, such as sonnet or openai/*; all by default')
    .addOption(
      new Option('--passthrough <provider...>', 'providers whose native API the key may use; none by default').choices(
        nativeProviders,
      ),
    )
    .option('--cache <time>', 'lifetime of cached responses, such as 10m or 1h; off by default', someText)
    .option(
      '--log-bodies <until>',
      'record request and response bodies until this time, such as 2026-12-01T00:00:00Z',
      someText,
    )
    .option('--budget <usd>', 'budget in US dollars', dollars)
    .option('--per <time>', 'reset period of the budget, such as 12h, 30d or 1mo')
    .option('--warn-at <usd>', 'amount in US dollars at which to warn', dollars)
    .option('--expires-in <time>', 'lifetime of the key, such as 90d or 1mo')
    .option('--rpm <n>', 'requests per minute', count)
    .option('--tpm <n>', 'tokens per minute', wholeNumber({ min: 1, max: 1e12 }))
    .option('--parallel <n>', 'concurrent model calls', count)
    .action(doing<CreateOptions>(({ client, out }, options) => createKey(client, { fields: fieldsOf(options) }, out)))
  withExamples(create, [
    'switchyard keys create --label ci --model sonnet --budget 20 --per 30d',
    'KEY=$(switchyard keys create --label laptop --owner ada --expires-in 90d)',
  ])
}

/** Converts the options to a request body without absent fields. */
function fieldsOf(options: CreateOptions): ApiKeyWrite {
  const {
    label,
    owner,
    user,
    team,
    role,
    model,
    passthrough,
    cache,
    logBodies,
    budget,
    per,
    warnAt,
    expiresIn,
    rpm,
    tpm,
    parallel,
  } = options
  const fields = {
    label,
    owner_id: owner,
    user_id: user,
    team_id: team,
    role,
    models: model && [...model],
    passthrough: passthrough && [...passthrough],
    cache: cache === undefined ? undefined : { ttl: cache },
    log_bodies: logBodies === undefined ? undefined : { until: logBodies },
    max_budget: budget,
    budget_duration: per,
    soft_budget: warnAt,
    duration: expiresIn,
    rpm_limit: rpm,
    tpm_limit: tpm,
    max_parallel_requests: parallel,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
