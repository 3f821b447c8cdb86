import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { Name, NextCursor, Nullable, pageQuery } from './schemas.ts'
import { UserRole } from './users.ts'

const ShownTime = Type.String({ format: 'date-time' })

/** A group of users that owns objects, pays from one budget and may call a list of models. */
export const Team = named(
  'Team',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    owner_id: Type.String({ description: 'Owner of what members create as the team; never changes' }),
    models: Type.Array(Type.String(), {
      description: 'Models that the keys of members may call: names or `provider/*`; empty: all',
    }),
    group: Nullable(
      Type.String({ description: 'Group of the identity provider: its members are members of the team' }),
    ),
    member_count: Type.Integer(),
    created_by: Type.String({ description: 'Principal' }),
    created_at: ShownTime,
  }),
)
export type Team = Static<typeof Team>

const Models = Type.Array(Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }), { maxItems: 500 })
const Group = Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' })))

const NewTeam = Type.Object({
  name: Name,
  owner_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '\\S',
      description: 'An owner that no other user or team has; the id of the team by default',
    }),
  ),
  models: Type.Optional(Models),
  group: Group,
})
export type NewTeam = Static<typeof NewTeam>

const TeamChange = Type.Object({ name: Type.Optional(Name), models: Type.Optional(Models), group: Group })
export type TeamChange = Static<typeof TeamChange>

/** A user in a team. */
export const TeamMember = named(
  'TeamMember',
  Type.Object({
    user_id: Type.String(),
    name: Type.String(),
    role: UserRole,
    is_disabled: Type.Boolean(),
    source: Type.Union([Type.Literal('manual'), Type.Literal('claim')], {
      description: '`claim`: a sign-in without the group of the team ends the membership',
    }),
    since: ShownTime,
  }),
)
export type TeamMember = Static<typeof TeamMember>

const TeamPath = Type.Object({ team_id: Type.String() })
const MemberPath = Type.Object({ team_id: Type.String(), user_id: Type.String() })
const base = { access: 'admin', errorShape: 'nested' } as const

export const teamRoutes = {
  list: route({
    ...base,
    id: 'teams.list',
    method: 'GET',
    path: '/api/teams',
    query: Type.Object({
      ...pageQuery,
      q: Type.Optional(
        Type.String({ maxLength: 256, description: 'Only teams whose name or owner contains this text' }),
      ),
    }),
    responses: { 200: Type.Object({ teams: Type.Array(Team), next_cursor: NextCursor }) },
    summary: 'List teams',
    description: 'Lists teams, newest first. Only an admin without limits may call it.',
  }),
  create: route({
    ...base,
    id: 'teams.create',
    method: 'POST',
    path: '/api/teams',
    body: NewTeam,
    responses: { 201: Team },
    summary: 'Create a team',
    description:
      'Creates a team without members. Its budget is set with `PUT /api/budgets/team/{team_id}`. 409 when another user or team has the owner, or another team the group.',
  }),
  get: route({
    ...base,
    id: 'teams.get',
    method: 'GET',
    path: '/api/teams/{team_id}',
    params: TeamPath,
    responses: { 200: Team },
    summary: 'Read a team',
    description: 'Returns one team.',
  }),
  update: route({
    ...base,
    id: 'teams.update',
    method: 'PATCH',
    path: '/api/teams/{team_id}',
    params: TeamPath,
    body: TeamChange,
    responses: { 200: Team },
    summary: 'Update a team',
    description:
      'Changes name, models or group; absent fields stay. A changed list of models applies to the keys of the members within 5 s, a changed group at the next sign-in of each person.',
  }),
  remove: route({
    ...base,
    id: 'teams.remove',
    method: 'DELETE',
    path: '/api/teams/{team_id}',
    params: TeamPath,
    responses: { 204: null },
    summary: 'Delete a team',
    description:
      'Deletes a team with its budget, and revokes the keys that name it in `team_id`. What members created as the team stays with its owner.',
  }),
  members: route({
    ...base,
    id: 'teams.members',
    method: 'GET',
    path: '/api/teams/{team_id}/members',
    params: TeamPath,
    query: Type.Object(pageQuery),
    responses: { 200: Type.Object({ members: Type.Array(TeamMember), next_cursor: NextCursor }) },
    summary: 'List members of a team',
    description: 'Lists the users of a team, newest first.',
  }),
  addMember: route({
    ...base,
    id: 'teams.add_member',
    method: 'PUT',
    path: '/api/teams/{team_id}/members/{user_id}',
    params: MemberPath,
    responses: { 204: null },
    summary: 'Add a member to a team',
    description:
      'Adds a user to a team. The membership stays when groups of the identity provider change. Repeating the request succeeds.',
  }),
  removeMember: route({
    ...base,
    id: 'teams.remove_member',
    method: 'DELETE',
    path: '/api/teams/{team_id}/members/{user_id}',
    params: MemberPath,
    responses: { 204: null },
    summary: 'Remove a member from a team',
    description:
      'Removes a user from a team. Keys of the user with this `team_id` stop within 5 s and work again when the user returns. 404 when the user is not a member.',
  }),
}
