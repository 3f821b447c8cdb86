import { type Static, Type } from 'typebox'
import { Approval } from './approvals.ts'
import { Budget } from './budgets.ts'
import { RunningSession, runningTotals } from './controls.ts'
import { KeyRole } from './keys.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, Nullable, Timezone } from './schemas.ts'
import { ExactUsd } from './usage.ts'

/** Header that the console sends with each write, which forms and scripts of other pages cannot send. Security: S43. */
export const consoleHeader = 'x-switchyard-console'

/** The caller of a request, as far as a person wants to know it. */
export const Me = named(
  'Me',
  Type.Object({
    principal: Type.String({
      description: '`master`, the owner of the key, that of its user, or the id of a key without either',
    }),
    role: KeyRole,
    owner_id: Nullable(Type.String()),
    key_id: Nullable(Type.String({ description: 'null: the master key, or authentication is off' })),
    user: Nullable(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        email: Nullable(Type.String()),
        team_id: Nullable(Type.String({ description: 'Team that the user acts as; null: as itself' })),
        teams: Type.Array(Type.Object({ id: Type.String(), name: Type.String() }), {
          description: 'Teams that the user may act as; empty for other keys than those of a single sign-on',
        }),
      }),
      'User of the key; null without one',
    ),
    is_authentication_off: Type.Boolean(),
    version: Type.String(),
  }),
)
export type Me = Static<typeof Me>

/** A session that failed. */
export const FailedSession = named(
  'FailedSession',
  Type.Object({
    session_id: Type.String(),
    title: Type.String(),
    agent_id: Type.String(),
    failed_at: DateTime,
    error_type: Nullable(Type.String({ description: 'As in the last `session.error` of its log; null without one' })),
    message: Nullable(Type.String()),
  }),
)
export type FailedSession = Static<typeof FailedSession>

/** What a person wants to know first, in one answer. */
export const Overview = named(
  'Overview',
  Type.Object({
    readiness: Type.Object({
      status: Type.Union([Type.Literal('ok'), Type.Literal('unavailable')]),
      reasons: Type.Array(Type.String()),
    }),
    approvals: Type.Object({
      pending: Type.Integer(),
      oldest: Type.Array(Approval, { description: 'At most 5, the oldest first' }),
    }),
    running: Type.Object({
      ...runningTotals,
      sessions: Type.Array(RunningSession, { description: 'At most 20, the newest first' }),
    }),
    spend: Type.Object({
      since: DateTime,
      cost_usd: Nullable(ExactUsd, 'Cost of the calls with a known price; null when no call has one'),
      requests: Type.Integer(),
      unpriced_requests: Type.Integer(),
    }),
    budgets: Type.Array(Budget, {
      description: 'At most 20 budgets of which 80 % or more are spent, the fullest first',
    }),
    failures: Type.Array(FailedSession, {
      description: 'At most 20 sessions whose last run failed in the last 24 hours, the newest first',
    }),
  }),
)
export type Overview = Static<typeof Overview>

const base = { errorShape: 'nested' } as const

const page = {
  access: 'public',
  errorShape: 'nested',
  produces: 'text/html',
} as const

export const consoleRoutes = {
  signInMethods: route({
    ...base,
    id: 'console.sign_in_methods',
    method: 'GET',
    path: '/api/sign-in',
    access: 'public',
    responses: {
      200: Type.Object({
        sso: Nullable(
          Type.Object({ name: Type.String({ description: 'Name of the identity provider, for the button' }) }),
          'Single sign-on; null where it is not configured',
        ),
      }),
    },
    summary: 'List ways to sign in',
    description: 'Returns how people can sign in besides a key.',
  }),
  beginSso: route({
    ...base,
    id: 'console.begin_sso',
    method: 'POST',
    path: '/api/sign-in/sso',
    access: 'public',
    responses: { 200: Type.Object({ authorization_url: Type.String() }) },
    summary: 'Begin a single sign-on',
    description:
      'Returns the address at the identity provider to send the browser to, and sets a cookie that binds the sign-in to this browser for 10 minutes. ' +
      'The provider sends the browser back to `/oauth/sign-in/callback`. 400 where single sign-on is not configured, 429 after 600 sign-ins a minute from one address, 502 when the provider is unreachable.',
  }),
  ssoCallback: route({
    ...page,
    id: 'console.sso_callback',
    method: 'GET',
    path: '/oauth/sign-in/callback',
    query: Type.Object({
      state: Type.Optional(Type.String({ maxLength: 200, description: 'State of the sign-in' })),
      code: Type.Optional(Type.String({ maxLength: 4_000, description: 'Authorization code' })),
      iss: Type.Optional(Type.String({ maxLength: 2_000, description: 'Issuer' })),
      error: Type.Optional(Type.String({ maxLength: 200, description: 'Code of a rejected sign-in' })),
      error_description: Type.Optional(Type.String({ maxLength: 2_000, description: 'Text of a rejected sign-in' })),
    }),
    unknownFields: 'passed',
    responses: { 200: Type.String(), 400: Type.String(), 403: Type.String(), 502: Type.String() },
    summary: 'Return from a single sign-on',
    description:
      'The identity provider sends the browser here. The page signs the person in and opens the console, or says why it did not: 400 for an answer that does not belong to a sign-in of this browser, 403 for a person who may not sign in, 502 when the provider is unreachable. Each sign-in is valid once.',
  }),
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
      'Checks a key for the console and sets a cookie that replaces it for 7 days. Scripts of pages cannot read the cookie, and it ends when the key is revoked or expires. ' +
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
    description: 'Deletes the cookie of the console, and ends the session of a single sign-on.',
  }),
  me: route({
    ...base,
    id: 'console.me',
    method: 'GET',
    path: '/api/me',
    access: 'key',
    responses: { 200: Me },
    summary: 'Read who you are',
    description: 'Returns principal, role and owner of the caller.',
  }),
  actAs: route({
    ...base,
    id: 'console.act_as',
    method: 'PUT',
    path: '/api/me/team',
    access: 'key',
    isRead: true,
    body: Type.Object({ team_id: Nullable(Type.String({ maxLength: 200 }), 'A team of the user; null: as itself') }),
    responses: { 200: Me },
    summary: 'Act as a team',
    description:
      'Replaces the cookie of a person who signed in with single sign-on by one that sees and creates the objects of a team, or again those of the person. 403 for other callers, 404 for a team of which the person is not a member.',
  }),
  overview: route({
    ...base,
    id: 'console.overview',
    method: 'GET',
    path: '/api/overview',
    access: 'key',
    query: Type.Object({ timezone: Timezone }),
    responses: { 200: Overview },
    summary: 'Read what needs attention',
    description:
      'Returns what waits for a person, what runs, what it costs today, which budgets are nearly spent and what has failed. Today begins at midnight of `timezone`, UTC by default. ' +
      'A key with an owner sees only that owner; `budgets` is empty for callers who are no admins.',
  }),
}
