import type { Command } from 'commander'
import { teamRoutes } from '../../contract/teams.ts'
import { memberFinder, teamFinder, userFinder } from '../finders.ts'
import type { Registry } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import type { FieldOption } from './schema-option.ts'
import { details, done, id, minuteText, rows } from './show.ts'

const which: FieldArgument = { field: 'team_id', name: 'team', text: 'id or name of the team', finder: teamFinder }

/** Fields of create and update. */
const settings: readonly FieldOption[] = [
  { field: 'models', flag: 'model', value: 'name', text: 'models that members may call, such as sonnet or openai/*' },
  { field: 'group', text: 'group of the identity provider whose members are members of the team' },
]

/** Adds `teams`. */
export function addTeamCommands(program: Command, registry: Registry): void {
  const group = addGroup(
    program,
    'teams',
    'groups of users with shared objects, models and a budget; requires an admin key without limits',
    ['switchyard teams create Data --model sonnet', 'switchyard teams add-member Data "Ada Lovelace"'],
  )
  addTeams(group, registry)
  addMembers(group, registry)
}

function addTeams(group: Command, registry: Registry): void {
  addRouteCommand(group, registry, {
    name: 'ls',
    route: teamRoutes.list,
    text: 'list teams, newest first',
    fields: [{ field: 'q', flag: 'search', text: 'only teams whose name or owner contains this text' }],
    show: rows(
      ({ teams }) => teams,
      [
        ['ID', team => team.id],
        ['MEMBERS', ({ member_count }) => String(member_count)],
        ['GROUP', team => team.group ?? '-'],
        ['MODELS', ({ models }) => (models.length === 0 ? 'all' : models.join(', '))],
        ['OWNER', ({ owner_id }) => owner_id],
        ['NAME', ({ name }) => name],
      ],
      { empty: 'No teams. Create one: switchyard teams create <name>', dropFirst: ['OWNER', 'MODELS', 'GROUP'] },
    ),
    examples: ['switchyard teams ls', 'switchyard teams ls --json'],
  })
  addRouteCommand(group, registry, {
    name: 'show',
    route: teamRoutes.get,
    text: 'show a team; "budgets show team" shows its budget',
    args: [which],
    show: details(),
    examples: ['switchyard teams show Data'],
  })
  addRouteCommand(group, registry, {
    name: 'create',
    route: teamRoutes.create,
    text: 'create a team without members and print its id',
    args: [{ field: 'name', text: 'name of the team' }],
    fields: [
      ...settings,
      { field: 'owner_id', flag: 'owner', value: 'name', text: 'owner of its objects; its id by default' },
    ],
    show: id(team => team.id),
    examples: ['TEAM_ID=$(switchyard teams create Data --model sonnet openai/* --group data)'],
  })
  addRouteCommand(group, registry, {
    name: 'edit',
    route: teamRoutes.update,
    text: 'change a team; what is not given stays unchanged',
    args: [which],
    fields: [{ field: 'name', text: 'new name' }, ...settings],
    show: done(team => `changed ${team.id}`),
    examples: ['switchyard teams edit Data --model sonnet haiku'],
  })
  addRouteCommand(group, registry, {
    name: 'rm',
    route: teamRoutes.remove,
    text: 'delete a team with its budget and revoke the keys that name it; its objects stay with its owner',
    args: [which],
    destroys: ([team]) => `delete team ${team} with its budget and revoke its keys`,
    show: done((_, [team]) => `deleted ${team}`),
    examples: ['switchyard teams rm Data --yes'],
  })
}

function addMembers(group: Command, registry: Registry): void {
  addRouteCommand(group, registry, {
    name: 'members',
    route: teamRoutes.members,
    args: [which],
    show: rows(
      ({ members }) => members,
      [
        ['ID', ({ user_id }) => user_id],
        ['STATE', ({ is_disabled }) => (is_disabled ? 'disabled' : 'active')],
        ['ROLE', ({ role }) => role],
        ['SINCE', ({ since }) => minuteText(since)],
        ['BY', ({ source }) => (source === 'claim' ? 'group' : 'hand')],
        ['NAME', ({ name }) => name],
      ],
      { empty: 'No members. Add one: switchyard teams add-member <team> <user>', dropFirst: ['SINCE', 'BY'] },
    ),
    examples: ['switchyard teams members Data'],
  })
  addRouteCommand(group, registry, {
    name: 'add-member',
    route: teamRoutes.addMember,
    text: 'add a user to a team; changes of groups do not end the membership',
    args: [which, { field: 'user_id', name: 'user', text: 'id or name of the user', finder: userFinder }],
    show: done((_, [team, user]) => `${user} is a member of ${team}`),
    examples: ['switchyard teams add-member Data "Ada Lovelace"'],
  })
  addRouteCommand(group, registry, {
    name: 'remove-member',
    route: teamRoutes.removeMember,
    text: 'remove a user from a team; keys of the user for this team stop within 5 s',
    args: [which, { field: 'user_id', name: 'user', text: 'id or name of the member', finder: memberFinder }],
    show: done((_, [team, user]) => `${user} is no longer a member of ${team}`),
    examples: ['switchyard teams remove-member Data "Ada Lovelace"'],
  })
}
