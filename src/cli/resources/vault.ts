import { type Command, Option } from 'commander'
import { vaultRoutes } from '../../contract/vault.ts'
import { vaultFinder } from '../finders.ts'
import { hiddenSecretOf } from '../secret-input.ts'
import type { Registry } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import { ago, done, printFields, rows } from './show.ts'

const which: FieldArgument = { field: 'key', name: 'name', text: 'name of the entry', finder: vaultFinder }
const scope = { field: 'scope' }

/** Adds `vault`. */
export function addVaultCommands(program: Command, registry: Registry): void {
  const group = addGroup(
    program,
    'vault',
    'stored secrets of agents, MCP servers and webhooks; values are never shown',
    ['switchyard vault ls', 'switchyard vault set GITHUB_TOKEN < token.txt'],
  )
  addRouteCommand(group, registry, {
    name: 'ls',
    route: vaultRoutes.list,
    text: 'list entries without their values',
    show: rows(
      ({ keys }) => keys,
      [
        ['NAME', ({ key }) => key],
        ['SCOPE', ({ scope }) => scope],
        ['CHANGED', ({ updated_at }, now) => ago(updated_at, now)],
        ['USED', ({ last_used_at }, now) => ago(last_used_at, now)],
        ['USED BY', ({ used_by, used_by_count }) => usersText(used_by, used_by_count)],
      ],
      { empty: 'The vault is empty. Store a secret: switchyard vault set <name> < file' },
    ),
    examples: ['switchyard vault ls', 'switchyard vault ls --json'],
  })
  addRouteCommand(group, registry, {
    name: 'show',
    route: vaultRoutes.get,
    text: 'show when an entry was used last and what uses it; not its value',
    args: [which],
    fields: [scope],
    show: ({ used_by, ...entry }, { out }) =>
      printFields(out, {
        ...entry,
        used_by: used_by.map(({ kind, name, field }) => `${kind} ${name}: ${field}`).join('\n'),
      }),
    examples: ['switchyard vault show GITHUB_TOKEN'],
  })
  addRouteCommand(group, registry, {
    name: 'set',
    route: vaultRoutes.set,
    text: 'store or replace a secret from standard input, a hidden prompt or a variable; never from an argument',
    args: [{ field: 'key', name: 'name', text: 'letters, digits, _, - and .' }],
    fields: [scope],
    extend: command =>
      void command.addOption(
        new Option('--from-env <name>', 'environment variable with the secret; default: standard input'),
      ),
    complete: async (request, { out, options }) => {
      const variable = options['fromEnv'] as string | undefined
      const value = await hiddenSecretOf(registry.world, variable, out)
      return { ...request, body: { ...(request['body'] as object), value } }
    },
    show: done((_, [name]) => `stored ${name}`),
    examples: [
      'switchyard vault set GITHUB_TOKEN < token.txt',
      'switchyard vault set GITHUB_TOKEN --from-env GITHUB_TOKEN --scope owner',
    ],
  })
  addRouteCommand(group, registry, {
    name: 'rm',
    route: vaultRoutes.remove,
    text: 'delete a secret; what uses it stops working',
    args: [which],
    fields: [scope],
    destroys: ([name]) => `delete the secret ${name}`,
    show: done((_, [name]) => `deleted ${name}`),
    examples: ['switchyard vault rm GITHUB_TOKEN --yes'],
  })
}

function usersText(usedBy: readonly { readonly name: string }[], count: number): string {
  const names = usedBy.slice(0, 3).map(({ name }) => name)
  const more = count - names.length
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ')
}
