import type { Command } from 'commander'
import { type User, userRoutes } from '../../contract/users.ts'
import { teamFinder, userFinder } from '../finders.ts'
import type { Registry } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import type { FieldOption } from './schema-option.ts'
import { ago, details, done, id, rows } from './show.ts'

const which: FieldArgument = { field: 'user_id', name: 'user', text: 'id or name of the user', finder: userFinder }

/** Fields of create and update. */
const settings: readonly FieldOption[] = [
  { field: 'email', value: 'address', text: 'the first sign-in with this verified address becomes the user' },
  { field: 'role', text: 'member by default; limits every key of the user' },
]

const stateOf = ({ is_disabled }: User): string => (is_disabled ? 'disabled' : 'active')

/** Adds `users`. */
export function addUserCommands(program: Command, registry: Registry): void {
  const group = addGroup(program, 'users', 'people and service accounts; requires an admin key without limits', [
    'switchyard users ls',
    'switchyard users create "Nightly build" --kind service_account',
  ])
  addRouteCommand(group, registry, {
    name: 'ls',
    route: userRoutes.list,
    text: 'list people and service accounts, newest first',
    fields: [
      { field: 'q', flag: 'search', text: 'only users whose name, email or owner contains this text' },
      { field: 'kind', text: 'only people, or only service accounts' },
      { field: 'team_id', flag: 'team', text: 'only members of this team', finder: teamFinder },
    ],
    show: rows(
      ({ users }) => users,
      [
        ['ID', user => user.id],
        ['STATE', stateOf],
        ['ROLE', ({ role }) => role],
        ['KIND', ({ kind }) => kind],
        ['EMAIL', ({ email }) => email ?? '-'],
        ['SIGNED IN', ({ last_sign_in_at }, now) => ago(last_sign_in_at, now)],
        ['TEAMS', ({ teams }) => teams.map(({ name }) => name).join(', ')],
        ['NAME', ({ name }) => name],
      ],
      {
        empty: 'No users. Create one: switchyard users create <name>',
        dropFirst: ['TEAMS', 'SIGNED IN', 'KIND', 'EMAIL'],
      },
    ),
    examples: ['switchyard users ls', 'switchyard users ls --team data --json'],
  })
  addRouteCommand(group, registry, {
    name: 'show',
    route: userRoutes.get,
    text: 'show a user with its teams',
    args: [which],
    show: details(),
    examples: ['switchyard users show "Ada Lovelace"'],
  })
  addRouteCommand(group, registry, {
    name: 'create',
    route: userRoutes.create,
    text: 'create a person or a service account and print its id',
    args: [{ field: 'name', text: 'name of the user' }],
    fields: [
      { field: 'kind', text: 'person by default; a service account never signs in' },
      ...settings,
      { field: 'owner_id', flag: 'owner', value: 'name', text: 'owner of what it creates; its id by default' },
    ],
    show: id(user => user.id),
    examples: [
      'switchyard users create "Ada Lovelace" --email ada@acme.example --role admin',
      'USER_ID=$(switchyard users create "Nightly build" --kind service_account)',
    ],
  })
  addRouteCommand(group, registry, {
    name: 'edit',
    route: userRoutes.update,
    text: 'change a user; what is not given stays unchanged',
    args: [which],
    fields: [{ field: 'name', text: 'new name' }, ...settings],
    show: done(user => `changed ${user.id}`),
    examples: ['switchyard users edit "Ada Lovelace" --role viewer'],
  })
  for (const [name, text, is_disabled] of [
    ['disable', 'stop the keys and the sign-ins of a user within 5 s', true],
    ['enable', 'let a user sign in again, and its keys work', false],
  ] as const) {
    addRouteCommand(group, registry, {
      name,
      route: userRoutes.update,
      text,
      args: [which],
      constants: { is_disabled },
      show: done(user => `${user.id} is ${stateOf(user)}`),
      examples: [`switchyard users ${name} "Ada Lovelace"`],
    })
  }
  addRouteCommand(group, registry, {
    name: 'rm',
    route: userRoutes.remove,
    text: 'delete a user and revoke its keys for good; what it created stays with its owner',
    args: [which],
    destroys: ([user]) => `delete user ${user} and revoke its keys`,
    show: done((_, [user]) => `deleted ${user}`),
    examples: ['switchyard users rm "Nightly build" --yes'],
  })
}
