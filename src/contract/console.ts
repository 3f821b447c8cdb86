import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { Nullable } from './schemas.ts'

/** Header that the console sends with each write, which forms and scripts of other pages cannot send. Security: S43. */
export const consoleHeader = 'x-switchyard-console'

/** The caller of a request, as far as a person wants to know it. */
export const Me = named(
  'Me',
  Type.Object({
    principal: Type.String({ description: '`master`, the owner of the key, or the id of a key without an owner' }),
    role: Type.Union([Type.Literal('admin'), Type.Literal('user')]),
    owner_id: Nullable(Type.String()),
    key_id: Nullable(Type.String({ description: 'null: the master key, or authentication is off' })),
    is_authentication_off: Type.Boolean(),
    version: Type.String(),
  }),
)
export type Me = Static<typeof Me>

const base = { errorShape: 'nested' } as const

export const consoleRoutes = {
  signIn: route({
    ...base,
    id: 'console.sign_in',
    method: 'POST',
    path: '/api/sign-in',
    access: 'public',
    body: Type.Object({ key: Type.String({ minLength: 1, maxLength: 1000, description: 'Master or virtual key' }) }),
    responses: {
      200: Type.Intersect([
        Me,
        Type.Object({
          is_remembered: Type.Boolean({
            description: 'True when the answer sets a cookie. It does so for pages over https and on loopback only.',
          }),
        }),
      ]),
    },
    summary: 'Sign in with a key',
    description:
      'Checks a key for the console and sets a cookie that stands for it for 7 days. Scripts of pages cannot read the cookie, and it ends when the key is revoked or expires. ' +
      'A request with the cookie must come from a page of this service; one that changes something must also have the header `x-switchyard-console: 1`. Programs send their key with each request instead.',
  }),
  signOut: route({
    ...base,
    id: 'console.sign_out',
    method: 'DELETE',
    path: '/api/sign-in',
    access: 'public',
    responses: { 204: null },
    summary: 'Sign out',
    description: 'Deletes the cookie of the console.',
  }),
  me: route({
    ...base,
    id: 'console.me',
    method: 'GET',
    path: '/api/me',
    access: 'key',
    responses: { 200: Me },
    summary: 'Read who you are',
    description: 'Returns the principal, role and owner that the key of the request stands for.',
  }),
}
