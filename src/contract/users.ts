import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { Name, NextCursor, Nullable, pageQuery } from './schemas.ts'

const ShownTime = Type.String({ format: 'date-time' })

export const UserRole = named(
  'UserRole',
  Type.Union([Type.Literal('admin'), Type.Literal('member'), Type.Literal('viewer')], {
    description:
      '`admin`: everything; `member`: its own objects and those of its teams; `viewer`: the same, read only. It limits every key of the user',
  }),
)
export type UserRole = Static<typeof UserRole>

const UserKind = Type.Union([Type.Literal('person'), Type.Literal('service_account')], {
  description: 'A service account never signs in: it only has keys',
})

/** A person or a service account. */
export const User = named(
  'User',
  Type.Object({
    id: Type.String(),
    kind: UserKind,
    name: Type.String(),
    email: Nullable(Type.String()),
    owner_id: Type.String({ description: 'Owner of what the user creates for itself; never changes' }),
    role: UserRole,
    is_disabled: Type.Boolean({ description: 'True: the user cannot sign in, and its keys do not work' }),
    has_signed_in: Type.Boolean({ description: 'True once an account of the identity provider belongs to the user' }),
    teams: Type.Array(Type.Object({ id: Type.String(), name: Type.String() }), {
      description: 'In the order of joining; the first pays for keys that name no team',
    }),
    last_sign_in_at: Nullable(ShownTime),
    created_by: Type.String({ description: 'Principal' }),
    created_at: ShownTime,
  }),
)
export type User = Static<typeof User>

const Email = Type.String({ minLength: 3, maxLength: 320, pattern: '^[^\\s@]+@[^\\s@]+$' })

const NewUser = Type.Object({
  kind: Type.Optional(UserKind),
  name: Name,
  email: Type.Optional(
    Nullable(Email, 'The first sign-in with this verified address becomes the user. Not for service accounts'),
  ),
  owner_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '\\S',
      description: 'An owner that no other user or team has; the id of the user by default',
    }),
  ),
  role: Type.Optional(UserRole),
})
export type NewUser = Static<typeof NewUser>

const UserChange = Type.Object({
  name: Type.Optional(Name),
  email: Type.Optional(Nullable(Email)),
  role: Type.Optional(UserRole),
  is_disabled: Type.Optional(Type.Boolean()),
})
export type UserChange = Static<typeof UserChange>

const UserPath = Type.Object({ user_id: Type.String() })
const base = { access: 'admin', errorShape: 'nested' } as const

export const userRoutes = {
  list: route({
    ...base,
    id: 'users.list',
    method: 'GET',
    path: '/api/users',
    query: Type.Object({
      ...pageQuery,
      q: Type.Optional(
        Type.String({ maxLength: 256, description: 'Only users whose name, email or owner contains this text' }),
      ),
      kind: Type.Optional(UserKind),
      team_id: Type.Optional(Type.String({ maxLength: 200, description: 'Only members of this team' })),
    }),
    responses: { 200: Type.Object({ users: Type.Array(User), next_cursor: NextCursor }) },
    summary: 'List users',
    description: 'Lists people and service accounts, newest first. Only an admin without limits may call it.',
  }),
  create: route({
    ...base,
    id: 'users.create',
    method: 'POST',
    path: '/api/users',
    body: NewUser,
    responses: { 201: User },
    summary: 'Create a user',
    description:
      'Creates a person or a service account, as a `member` by default. People who sign in with the identity provider need not be created first. 409 when another user or team has the owner or the email address.',
  }),
  get: route({
    ...base,
    id: 'users.get',
    method: 'GET',
    path: '/api/users/{user_id}',
    params: UserPath,
    responses: { 200: User },
    summary: 'Read a user',
    description: 'Returns one person or service account with its teams.',
  }),
  update: route({
    ...base,
    id: 'users.update',
    method: 'PATCH',
    path: '/api/users/{user_id}',
    params: UserPath,
    body: UserChange,
    responses: { 200: User },
    summary: 'Update a user',
    description:
      'Changes name, email, role or `is_disabled`; absent fields stay. Disabling a user stops its sign-ins and its keys within 5 s; enabling it brings its keys back. A role that the identity provider maps is set again at the next sign-in.',
  }),
  remove: route({
    ...base,
    id: 'users.remove',
    method: 'DELETE',
    path: '/api/users/{user_id}',
    params: UserPath,
    responses: { 204: null },
    summary: 'Delete a user',
    description:
      'Deletes a user and revokes its keys for good. What it created stays with its owner. A person whom the identity provider still knows becomes a new user at the next sign-in; disable the user to prevent that.',
  }),
}
