import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyPath } from '../src/contract/api.ts'
import type { Route } from '../src/contract/route.ts'
import { teamRoutes } from '../src/contract/teams.ts'
import { userRoutes } from '../src/contract/users.ts'
import { holderOf } from './support/keys/virtual-keys.ts'
import { eventually } from './support/service/eventually.ts'
import { open, send, sendOk, type Target } from './support/service/send.ts'
import { startService } from './support/service/service.ts'

const service = await startService()
const unauthorized = '{"error":{"type":"gateway_error","message":"unauthorized"}}'

const revoked = await holderOf(service, { role: 'admin' })
await send(service, `DELETE /api/keys/${revoked.id}`)
const expired = await holderOf(service, { role: 'admin', expires_at: new Date(Date.now() + 300).toISOString() })
await eventually(async () => (await send(expired, 'GET /api/agents')).status === 401)

/** Makes a user of this role; returns its id. */
async function userWith(role: 'admin' | 'member' | 'viewer'): Promise<string> {
  return (await sendOk<{ id: string }>(service, 'POST /api/users', { body: { name: role, role } })).id
}

const viewer = 'a viewer'

/** Who calls, and what becomes of their calls to routes for keys and to routes for admins. */
const callers: readonly (readonly [who: string, target: Target, keyed: Verdict, admin: Verdict])[] = [
  ['nobody', { url: service.url }, 'unknown', 'unknown'],
  ['a key that was revoked', revoked, 'unknown', 'unknown'],
  ['a key that has expired', expired, 'unknown', 'unknown'],
  ['a key of role user', await holderOf(service), 'let in', 'refused'],
  ['a key of role user with an owner', await holderOf(service, { owner_id: 'ada' }), 'let in', 'refused'],
  ['a key of role admin', await holderOf(service, { role: 'admin' }), 'let in', 'let in'],
  [
    'a key of role admin with an owner',
    await holderOf(service, { role: 'admin', owner_id: 'ada' }),
    'let in',
    'let in',
  ],
  ['the master key', service, 'let in', 'let in'],
  ['an admin', await holderOf(service, { user_id: await userWith('admin'), role: 'admin' }), 'let in', 'let in'],
  ['a member', await holderOf(service, { user_id: await userWith('member'), role: 'admin' }), 'let in', 'refused'],
  [viewer, await holderOf(service, { user_id: await userWith('viewer'), role: 'admin' }), 'let in', 'refused'],
]
type Verdict = 'unknown' | 'refused' | 'let in'

/** Routes for admins without limits, which a key with an owner is not. */
const forWholeService: ReadonlySet<string> = new Set([
  'system.settings',
  'deployments.end_cooldown',
  'log_sinks.list',
  // A body without the required name is rejected first.
  ...[...Object.values(userRoutes), ...Object.values(teamRoutes)]
    .map(({ id }) => id)
    .filter(id => !id.endsWith('.create')),
])

/** The route as a request line, with an id that nothing has in the place of each parameter. */
const lineOf = ({ method, path }: Route): string =>
  `${method} ${path.replaceAll('{version}', '1').replaceAll(/\{\w+\}/g, 'nothing_1')}`

/** Status and body; of a success only the status, since some of those have no end. */
async function ask(target: Target, route: Route): Promise<{ status: number; text: string }> {
  const response = await open(target, lineOf(route), route.body ? { body: {} } : {})
  const status = response.statusCode ?? 0
  const chunks: Buffer[] = []
  if (status < 300) response.destroy()
  else for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status, text: Buffer.concat(chunks).toString() }
}

const verdictOf = (status: number): Verdict => (status === 401 ? 'unknown' : status === 403 ? 'refused' : 'let in')

for (const route of everyPath) {
  test(`S08: ${route.method} ${route.path} is for ${route.access}`, async () => {
    for (const [who, target, keyed, ofAdmins] of callers) {
      const isLimited = forWholeService.has(route.id) && who === 'a key of role admin with an owner'
      const admin = isLimited ? 'refused' : ofAdmins
      const { status, text } = await ask(target, route)
      const isRead = route.isRead ?? route.method === 'GET'
      const own = who === viewer && !isRead ? 'refused' : keyed
      const expected = {
        public: 'let in',
        webhook: 'unknown',
        admin,
        key: own,
        'key-or-query': own,
        'google-key': own,
        // No agent of the name exists, so no card is public.
        'key-unless-public': keyed,
      } as const
      assert.equal(verdictOf(status), expected[route.access], `${who}: ${status} ${text}`)
      if (status === 401) assert.equal(text, unauthorized)
      assert.ok(status < 500, `${who}: ${status} ${text}`)
    }
  })
}

test('the matrix has routes of each kind', () => {
  const kinds = new Set(everyPath.map(({ access }) => access))
  for (const kind of ['public', 'key', 'admin', 'key-or-query', 'google-key'] as const) assert.ok(kinds.has(kind), kind)
})

test('S08: a path that does not exist reports no more to a revoked key than to a request without one', async () => {
  const answer = await send(revoked, 'GET /api/no-such-thing')
  assert.deepEqual([answer.status, answer.text], [401, unauthorized])
})
