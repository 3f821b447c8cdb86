import { type Static, Type } from 'typebox'
import { Approval } from './approvals.ts'
import { Budget } from './budgets.ts'
import { RunningSession, runningTotals } from './controls.ts'
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
    principal: Type.String({ description: '`master`, the owner of the key, or the id of a key without an owner' }),
    role: Type.Union([Type.Literal('admin'), Type.Literal('user')]),
    owner_id: Nullable(Type.String()),
    key_id: Nullable(Type.String({ description: 'null: the master key, or authentication is off' })),
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
    description: 'Returns principal, role and owner of the caller.',
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
