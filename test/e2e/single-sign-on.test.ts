import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import type { Team } from '../../src/contract/teams.ts'
import type { User } from '../../src/contract/users.ts'
import { eventually } from '../support/service/eventually.ts'
import { freePort } from '../support/service/free-port.ts'
import { send, sendOk } from '../support/service/send.ts'
import { type Service, startService } from '../support/service/service.ts'
import { startProvider } from '../support/sign-in/identity-provider.ts'
import { type Visitor, visitorOf } from '../support/sign-in/sso-visitor.ts'

const provider = await startProvider()

/** A service whose public address is that of its clients, also when a proxy is between them. */
async function startWithSignIn(oidc: object): Promise<Service> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  provider.allow(`${url}/oauth/sign-in/callback`)
  return startService({
    port,
    env: { OIDC_SECRET: provider.clientSecret },
    config: JSON.stringify({
      general_settings: { public_url: url },
      outbound: { allow: [provider.host] },
      sign_in: {
        oidc: {
          issuer: provider.issuer,
          client_id: provider.clientId,
          client_secret: 'os.environ/OIDC_SECRET',
          ...oidc,
        },
      },
    }),
  })
}

const service = await startWithSignIn({
  name: 'Acme',
  claims: { groups: 'groups', owner: 'login' },
  allowed_domains: ['acme.example'],
  roles: { admin: ['ops'], member: ['dev'], viewer: ['*'] },
})

let accounts = 0
/** Makes an account of the provider with these groups the next to sign in. */
function account(groups: readonly string[], claims: Readonly<Record<string, unknown>> = {}): string {
  const login = `person-${++accounts}`
  const email = `${login}@acme.example`
  const { sub = login, ...others } = claims
  provider.person = {
    sub: String(sub),
    claims: { login, name: `Person ${accounts}`, email, email_verified: true, groups, ...others },
  }
  return login
}

async function signedIn(): Promise<Visitor> {
  const visitor = visitorOf(service)
  const { status, text } = await visitor.signIn()
  assert.equal(status, 200, text)
  return visitor
}

const userOf = async (login: string): Promise<User> => {
  const { users } = await sendOk<{ users: User[] }>(service, `GET /api/users?q=${login}`)
  return users.find(({ owner_id }) => owner_id === login) ?? assert.fail(`no user ${login}`)
}

test('a person signs in, is created as a user, works with the cookie and signs out', async () => {
  const login = account(['dev'])
  const methods = await send({ url: service.url }, 'GET /api/sign-in')
  assert.deepEqual(methods.json(), { sso: { name: 'Acme' } })

  const visitor = await signedIn()
  const me = await visitor.send('GET /api/me')
  assert.equal(me.status, 200)
  const { principal, role, owner_id, user } = me.json
  assert.deepEqual([principal, role, owner_id], [login, 'user', login])
  assert.equal((user as { name: string }).name, `Person ${accounts}`)
  assert.deepEqual([...visitor.cookies.keys()], ['__Host-switchyard'])

  const stored = await userOf(login)
  assert.deepEqual([stored.role, stored.email, stored.has_signed_in], ['member', `${login}@acme.example`, true])
  assert.equal((await visitor.send('POST /session', { title: 'Mine' })).status, 200)
  assert.equal((await visitor.send('GET /api/keys')).status, 403)

  const cookies = new Map(visitor.cookies)
  assert.equal((await visitor.send('DELETE /api/sign-in')).status, 204)
  for (const [name, value] of cookies) visitor.cookies.set(name, value)
  assert.equal((await visitor.send('GET /api/me')).status, 401, 'the cookie ends with the sign-out')
})

test('groups decide the role and the teams at each sign-in', async () => {
  const team = await sendOk<Team>(service, 'POST /api/teams', { body: { name: 'Data', group: 'data' } })
  const manual = await sendOk<Team>(service, 'POST /api/teams', { body: { name: 'By hand', group: 'other' } })
  const login = account(['dev', 'data'])
  const first = await signedIn()
  const id = (await userOf(login)).id
  await sendOk(service, `PUT /api/teams/${manual.id}/members/${id}`)
  assert.deepEqual(
    (await userOf(login)).teams.map(({ name }) => name),
    ['Data', 'By hand'],
  )

  const asTeam = await first.send('PUT /api/me/team', { team_id: team.id })
  assert.deepEqual([asTeam.status, asTeam.json['owner_id']], [200, team.id])
  const made = await first.send('POST /session', { title: 'Of the team' })
  assert.equal(made.status, 200)
  assert.equal((await first.send('PUT /api/me/team', { team_id: 'team_unknown' })).status, 404)

  provider.person = { ...provider.person, claims: { ...provider.person.claims, groups: ['ops'] } }
  const second = await signedIn()
  const user = await userOf(login)
  assert.deepEqual([user.id, user.role], [id, 'admin'])
  assert.deepEqual(
    user.teams.map(({ name }) => name),
    ['By hand'],
    'only memberships by group end',
  )
  assert.equal((await second.send('GET /api/users')).status, 200)
  // The sign-in that acts as the team ends with the membership.
  await eventually(async () => (await first.send('GET /api/me')).status === 401)

  provider.person = { ...provider.person, claims: { ...provider.person.claims, groups: [] } }
  const third = await signedIn()
  assert.equal((await third.send('GET /api/agents')).status, 200)
  assert.equal((await third.send('POST /session', {})).status, 403)
  await eventually(async () => (await second.send('GET /api/users')).status === 403)
})

test('a disabled user is signed out everywhere and cannot sign in', async () => {
  const login = account(['dev'])
  const visitor = await signedIn()
  const { id } = await userOf(login)
  await sendOk(service, `PATCH /api/users/${id}`, { body: { is_disabled: true } })
  await eventually(async () => (await visitor.send('GET /api/me')).status === 401)
  const again = await visitorOf(service).signIn()
  assert.equal(again.status, 403)
  assert.match(again.text, /your user is disabled/)
  await sendOk(service, `PATCH /api/users/${id}`, { body: { is_disabled: false } })
  await eventually(async () => (await visitor.send('GET /api/me')).status === 200)
})

test('an expired sign-in no longer works, and acting as a team does not extend it', async () => {
  const login = account(['dev'])
  const visitor = await signedIn()
  const { id } = await userOf(login)
  const database = new Client({ connectionString: service.databaseUrl })
  await database.connect()
  const ends = async (): Promise<Date[]> => {
    const text = `
      select h.valid_until from api_key_hashes h join api_keys k on k.id = h.key_id where k.user_id = $1`
    return (await database.query<{ valid_until: Date }>(text, [id])).rows.map(row => row.valid_until)
  }
  try {
    const before = await ends()
    assert.equal((await visitor.send('PUT /api/me/team', { team_id: null })).status, 200)
    assert.deepEqual(await ends(), before)
    const text = `
      update api_key_hashes h set valid_until = clock_timestamp() from api_keys k where k.id = h.key_id and k.user_id = $1`
    await database.query(text, [id])
    await eventually(async () => (await visitor.send('GET /api/me')).status === 401)
  } finally {
    await database.end()
  }
})

test('revoking the key of the sign-ins of a user signs it out everywhere', async () => {
  const login = account(['dev'])
  const visitor = await signedIn()
  const { keys } = await sendOk<{ keys: { id: string; is_sign_in: boolean }[] }>(
    service,
    `GET /api/keys?user_id=${(await userOf(login)).id}`,
  )
  assert.deepEqual(
    keys.map(({ is_sign_in }) => is_sign_in),
    [true],
  )
  const changed = await send(service, `PATCH /api/keys/${keys[0]?.id}`, { body: { label: 'x' } })
  assert.equal(changed.status, 409)
  await sendOk(service, `DELETE /api/keys/${keys[0]?.id}`)
  await eventually(async () => (await visitor.send('GET /api/me')).status === 401)
  assert.equal((await (await signedIn()).send('GET /api/me')).status, 200, 'the next sign-in has a new key')
})

const refused: readonly (readonly [guarantee: string, attack: (visitor: Visitor) => Promise<URL>, RegExp])[] = [
  [
    'an answer with another state',
    async visitor => {
      const back = await visitor.follow(await visitor.begin())
      back.searchParams.set('state', 'another')
      return back
    },
    /does not belong to the sign-in of this browser/,
  ],
  [
    'the answer to the sign-in of another browser',
    async visitor => {
      const other = visitorOf(service)
      await visitor.begin()
      return other.follow(await other.begin())
    },
    /does not belong to the sign-in of this browser/,
  ],
  [
    'an answer without a sign-in',
    async visitor => {
      const back = await visitor.follow(await visitor.begin())
      visitor.cookies.clear()
      return back
    },
    /has not begun a sign-in/,
  ],
  [
    'a token with the nonce of another sign-in',
    async visitor => {
      const start = await visitor.begin()
      start.searchParams.set('nonce', 'another')
      return visitor.follow(start)
    },
    /token for another sign-in/,
  ],
  [
    'a code whose verifier is another',
    async visitor => {
      const start = await visitor.begin()
      start.searchParams.set('code_challenge', 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM')
      return visitor.follow(start)
    },
    /Acme rejected the sign-in: invalid_grant/,
  ],
  [
    'an error of the provider',
    async visitor => {
      const back = await visitor.follow(await visitor.begin())
      back.searchParams.delete('code')
      back.searchParams.set('error', 'access_denied')
      back.searchParams.set('error_description', '<script>')
      return back
    },
    /Acme did not complete the sign-in: access_denied/,
  ],
]

for (const [guarantee, attack, reason] of refused)
  test(`${guarantee} is no sign-in`, async () => {
    account(['dev'])
    const visitor = visitorOf(service)
    const { status, text } = await visitor.returnTo(await attack(visitor))
    assert.equal(status, 400, text)
    assert.match(text, reason)
    assert.doesNotMatch(text, /<script/)
    assert.ok(!visitor.cookies.has('__Host-switchyard'))
  })

test('an answer that was used is no second sign-in', async () => {
  account(['dev'])
  const visitor = visitorOf(service)
  const back = await visitor.follow(await visitor.begin())
  const cookies = new Map(visitor.cookies)
  assert.equal((await visitor.returnTo(back)).status, 200)
  visitor.cookies.clear()
  for (const [name, value] of cookies) visitor.cookies.set(name, value)
  const again = await visitor.returnTo(back)
  assert.deepEqual([again.status, visitor.cookies.has('__Host-switchyard')], [400, false])
  assert.match(again.text, /already completed/)
})

test('only verified addresses of the allowed domains may sign in, each for its own owner', async () => {
  for (const claims of [{ email: 'x@evil.example' }, { email_verified: false }, { email: 'x@evil.acme.example' }]) {
    account(['dev'], claims)
    const { status, text } = await visitorOf(service).signIn()
    assert.equal(status, 403)
    assert.match(text, /verified email address/)
  }
  const login = account(['dev'])
  await signedIn()
  account(['dev'], { login })
  const thief = await visitorOf(service).signIn()
  assert.equal(thief.status, 403)
  assert.match(thief.text, /owner name belongs to another user/)
})

test('an owner claim does not give the objects of an existing owner, unless an administrator created the user', async () => {
  const login = account(['dev'])
  const agent = { name: 'Old', owner_id: login, model: 'demo' }
  await sendOk(service, 'POST /api/agents', { body: agent })
  const thief = await visitorOf(service).signIn()
  assert.equal(thief.status, 403)
  assert.match(thief.text, /owner name already has objects/)
  const user = { name: 'Expected', owner_id: login, email: `${login}@acme.example` }
  await sendOk(service, 'POST /api/users', { body: user })
  const agents = (await (await signedIn()).send('GET /api/agents')).json['agents']
  assert.deepEqual(
    (agents as { name: string }[]).map(({ name }) => name),
    ['Old'],
  )

  const { id } = await sendOk<{ id: string }>(service, 'POST /api/keys', { body: { label: 'scripts' } })
  account(['dev'], { login: id })
  assert.equal((await visitorOf(service).signIn()).status, 403, 'a key owns what it creates')
})

test('a person who lost all groups with a role is signed out and leaves the teams of the groups', async () => {
  const strict = await startWithSignIn({ claims: { groups: 'groups' }, roles: { member: ['dev'] } })
  await sendOk(strict, 'POST /api/teams', { body: { name: 'Data', group: 'data' } })
  account(['dev', 'data'])
  const visitor = visitorOf(strict)
  assert.equal((await visitor.signIn()).status, 200)
  const teams = async () => (await sendOk<{ users: User[] }>(strict, 'GET /api/users')).users[0]?.teams.length
  assert.equal(await teams(), 1)
  provider.person = { ...provider.person, claims: { ...provider.person.claims, groups: ['data2'] } }
  const refused = await visitorOf(strict).signIn()
  assert.deepEqual([refused.status, /none of your groups/.test(refused.text)], [403, true])
  assert.equal(await teams(), 0)
  await eventually(async () => (await visitor.send('GET /api/me')).status === 401)
})

test('the cookie of one person gives the key of another no sign-in', async () => {
  account(['dev'])
  const visitor = await signedIn()
  const other = account(['dev'])
  await signedIn()
  const { id } = await userOf(other)
  const { key } = await sendOk<{ key: string }>(service, 'POST /api/keys', { body: { user_id: id } })
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answer = await send({ url: service.url, key }, 'PUT /api/me/team', {
    headers: { cookie },
    body: { team_id: null },
  })
  assert.equal(answer.status, 403, answer.text)
  assert.equal((await visitor.send('GET /api/me')).status, 200)
})

test('another page cannot begin a sign-in', async () => {
  const forged = await send({ url: service.url }, 'POST /api/sign-in/sso')
  assert.equal(forged.status, 403)
  const headers = { 'sec-fetch-site': 'cross-site', 'x-switchyard-console': '1' }
  assert.equal((await send({ url: service.url }, 'POST /api/sign-in/sso', { headers })).status, 403)
})

test('tokens and secrets of the provider are in no log and no page', () => {
  assert.ok(!service.logs().includes(provider.clientSecret))
  assert.doesNotMatch(service.logs(), /eyJ[\w-]+\.[\w-]+\./)
})

test('without the provider a sign-in fails with the reason, and keys still work', async () => {
  const alone = await startProvider()
  const other = await startService({
    config: JSON.stringify({
      outbound: { allow: [alone.host] },
      sign_in: { oidc: { issuer: alone.issuer, client_id: 'x' } },
    }),
  })
  await alone.stop()
  const { status, json } = await visitorOf(other).send('POST /api/sign-in/sso')
  assert.equal(status, 502)
  assert.match(JSON.stringify(json), /single sign-on is unreachable/)
  assert.equal((await send(other, 'GET /api/me')).status, 200)
})
