import { Argument, type Command, Option } from 'commander'
import type { ApiKeyWrite } from '../contract/keys.ts'
import { type NativeProvider, nativeProviders } from '../contract/native.ts'
import { createKey, listKeys, revokeKey, rotateKey } from './keys.ts'
import { dollars, someText, wholeNumber } from './parse.ts'
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
  readonly role?: 'user' | 'admin'
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

const keyId = () => new Argument('<id>', 'id of the key').argParser(someText)
const count = wholeNumber({ min: 1, max: 2_147_483_647 })

/** Adds `keys`. */
export function addKeyCommands(program: Command, registry: Registry): void {
  const keys = program
    .command('keys')
    .description('virtual keys of the service; needs the master key, or one of role admin')
  addList(keys, registry)
  addCreate(keys, registry)
  const rotate = keys
    .command('rotate')
    .description('give a key a new secret, printed once; the old one ends at once, or after a while')
    .addArgument(keyId())
    .option('--grace <time>', 'how long the old secret goes on: 24h, 7d')
    .action(
      registry.doing<{ grace?: string }>(({ client, out }, { grace }, [id = '']) =>
        rotateKey(client, { keyId: id, grace }, out),
      ),
    )
  withExamples(rotate, ['switchyard keys rotate key_0199 --grace 24h'])
  const revoke = keys
    .command('revoke')
    .description('end a key for good, in all processes, with its open streams')
    .addArgument(keyId())
    .action(registry.doing(({ client, out }, _, [id = '']) => revokeKey(client, { keyId: id }, out)))
  withExamples(revoke, ['switchyard keys revoke key_0199'])
  withExamples(keys, ['switchyard keys create --label ci', 'switchyard keys ls'])
}

function addList(keys: Command, { world, doing }: Registry): void {
  const list = keys
    .command('ls')
    .alias('list')
    .description('list keys, newest first')
    .option('--limit <n>', 'how many', wholeNumber({ min: 1, max: 200 }), 50)
    .option('--cursor <text>', 'go on where a page before has ended')
    .option('--owner <name>', 'only keys of this owner')
    .option('--all', 'also keys that were revoked')
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
    .description('make a key and print it, once')
    .option('--label <text>', 'what it is for')
    .option('--owner <name>', 'it sees and makes only what belongs to this owner')
    .addOption(new Option('--role <role>', 'what it may do').choices(['user', 'admin']))
    .option('--model <name...>', 'models that it may call, such as sonnet or openai/*; all unless given')
    .addOption(
      new Option('--passthrough <provider...>', 'providers whose own API it may use; none unless given').choices(
        nativeProviders,
      ),
    )
    .option('--cache <time>', 'how long the response cache keeps answers: 10m, 1h; off unless given', someText)
    .option('--log-bodies <until>', 'record the bodies of its calls until then: 2026-12-01T00:00:00Z', someText)
    .option('--budget <usd>', 'US dollars that it may spend', dollars)
    .option('--per <time>', 'after which the budget begins anew: 12h, 30d, 1mo')
    .option('--warn-at <usd>', 'US dollars from which on a warning is given', dollars)
    .option('--expires-in <time>', 'how long it is valid: 90d, 1mo')
    .option('--rpm <n>', 'requests a minute', count)
    .option('--tpm <n>', 'tokens a minute', wholeNumber({ min: 1, max: 1e12 }))
    .option('--parallel <n>', 'model calls at a time', count)
    .action(doing<CreateOptions>(({ client, out }, options) => createKey(client, { fields: fieldsOf(options) }, out)))
  withExamples(create, [
    'switchyard keys create --label ci --model sonnet --budget 20 --per 30d',
    'KEY=$(switchyard keys create --label laptop --owner ada --expires-in 90d)',
  ])
}

/** The body that the options stand for; what was not given is absent. */
function fieldsOf(options: CreateOptions): ApiKeyWrite {
  const {
    label,
    owner,
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
