import type { Command } from 'commander'
import { environmentRoutes } from '../../contract/environments.ts'
import { environmentFinder } from '../finders.ts'
import type { Registry } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import type { FieldOption } from './schema-option.ts'
import { ago, details, done, id, rows } from './show.ts'

const which: FieldArgument = {
  field: 'environment_id',
  name: 'environment',
  text: 'id or name of the environment',
  finder: environmentFinder,
}
const settings: readonly FieldOption[] = [
  { field: 'description', text: 'description of the environment' },
  { field: 'config', text: 'packages and network as JSON, or @ and the path of a JSON file' },
  { field: 'metadata', text: 'names and values as a JSON object' },
]

/** Adds `environments`. */
export function addEnvironmentCommands(program: Command, registry: Registry): void {
  const group = addGroup(program, 'environments', 'packages and networks of sandboxes that sessions choose by name', [
    'switchyard environments ls',
  ])
  addRouteCommand(group, registry, {
    name: 'ls',
    route: environmentRoutes.list,
    text: 'list environments, newest first',
    fields: [{ field: 'include_archived', flag: 'all', text: 'include archived environments' }],
    show: rows(
      ({ data }) => data,
      [
        ['ID', ({ id }) => id],
        ['STATE', ({ archived_at }) => (archived_at === null ? 'active' : 'archived')],
        ['CREATED', ({ created_at }, now) => ago(created_at, now)],
        ['NAME', ({ name }) => name],
      ],
      { empty: 'No environments. Create one: switchyard environments create <name> --config @environment.json' },
    ),
    examples: ['switchyard environments ls', 'switchyard environments ls --all --json'],
  })
  addRouteCommand(group, registry, {
    name: 'show',
    route: environmentRoutes.get,
    text: 'show an environment',
    args: [which],
    show: details(['type']),
    examples: ['switchyard environments show python'],
  })
  addRouteCommand(group, registry, {
    name: 'create',
    route: environmentRoutes.create,
    text: 'create an environment and print its id',
    args: [{ field: 'name', text: 'name of the environment' }],
    fields: settings,
    show: id(({ id }) => id),
    examples: [
      `switchyard environments create python --config '{"type": "cloud", "packages": {"pip": ["pandas"]}}'`,
      'switchyard environments create python --config @environment.json',
    ],
  })
  addRouteCommand(group, registry, {
    name: 'edit',
    route: environmentRoutes.update,
    text: 'change an environment; what is not given stays unchanged',
    args: [which],
    fields: [{ field: 'name', text: 'new name' }, ...settings],
    show: done(({ id }) => `changed ${id}`),
    examples: ['switchyard environments edit python --description "Data work"'],
  })
  addRouteCommand(group, registry, {
    name: 'archive',
    route: environmentRoutes.archive,
    text: 'archive an environment; new sessions cannot use it',
    args: [which],
    show: done(({ id }) => `archived ${id}`),
    examples: ['switchyard environments archive python'],
  })
  addRouteCommand(group, registry, {
    name: 'rm',
    route: environmentRoutes.remove,
    text: 'delete an environment',
    args: [which],
    destroys: ([id]) => `delete environment ${id}`,
    show: done(({ id }) => `deleted ${id}`),
    examples: ['switchyard environments rm python --yes'],
  })
}
