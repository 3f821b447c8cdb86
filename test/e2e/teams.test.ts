import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Budget } from '../../src/contract/budgets.ts'
import type { ApiKey } from '../../src/contract/keys.ts'
import type { Team } from '../../src/contract/teams.ts'
import type { NewUser, User } from '../../src/contract/users.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { type Answered, send, sendOk, type Target } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const service = await startService()

const newUser = (fields: Partial<NewUser> = {}) =>
  sendOk<User>(service, 'POST /api/users', { body: { name: 'Ada', ...fields } })
const newTeam = (fields: Partial<Team> = {}) =>
  sendOk<Team>(service, 'POST /api/teams', { body: { name: 'Data', ...fields } })
const join = (team: Team, user: User) => sendOk(service, `PUT /api/teams/${team.id}/members/${user.id}`)
/** Calls a model. A busy machine may answer 529, which clients repeat. */
const ask = (target: Target, model = 'demo'): Promise<Answered> =>
  eventually(async () => {
    const body = { model, max_tokens: 20, messages: [{ role: 'user', content: 'hello' }] }
    const answer = await send(target, 'POST /v1/messages', { body })
    return answer.status === 529 ? undefined : answer
  })

test('POST /api/users creates a member that owns what it creates', async () => {
  const user = await newUser({ email: 'ada@acme.example' })
  assert.deepEqual([user.role, user.owner_id, user.is_disabled, user.teams], ['member', user.id, false, []])
  const key = await holderOf(service, { user_id: user.id })
  const me = (await send(key, 'GET /api/me')).json()
  assert.deepEqual([me['principal'], me['role'], me['owner_id']], [user.id, 'user', user.id])
  const { keys } = await sendOk<{ keys: ApiKey[] }>(service, `GET /api/keys?user_id=${user.id}`)
  assert.deepEqual(
    keys.map(({ id }) => id),
    [key.id],
  )
  const found = await sendOk<{ users: User[] }>(service, 'GET /api/users?q=ADA@acme')
  assert.deepEqual(found.users, [user])
  const second = await send(service, 'POST /api/users', { body: { name: 'B', email: 'ADA@acme.example' } })
  assert.equal(second.status, 409)
})

test('an owner belongs to one user or team, and never to the master key', async () => {
  await newUser({ owner_id: 'only-one' })
  for (const line of ['POST /api/users', 'POST /api/teams'])
    for (const owner_id of ['only-one', 'master'])
      assert.equal((await send(service, line, { body: { name: 'X', owner_id } })).status, 409)
})

test('no key is stronger than its user, and a changed role applies to the keys that exist', async () => {
  const user = await newUser({ role: 'admin' })
  const key = await holderOf(service, { user_id: user.id, role: 'admin' })
  assert.equal((await send(key, 'GET /api/users')).status, 200)
  await sendOk(service, `PATCH /api/users/${user.id}`, { body: { role: 'member' } })
  await eventually(async () => (await send(key, 'GET /api/users')).status === 403)
  const made = await send(key, 'POST /session', {})
  assert.equal(made.status, 200)
  await sendOk(service, `PATCH /api/users/${user.id}`, { body: { role: 'viewer' } })
  await eventually(async () => (await send(key, 'POST /session', {})).status === 403)
  assert.equal((await send(key, `GET /session/${made.json()['id']}`)).status, 200)
  assert.equal((await ask(key)).status, 403)
})

test('a key with role `viewer` reads what belongs to its owner and changes nothing, also beside a stronger user', async () => {
  const user = await newUser({ role: 'admin' })
  const [reader, writer] = [
    await holderOf(service, { user_id: user.id, role: 'viewer' }),
    await holderOf(service, { user_id: user.id }),
  ]
  const made = (await sendOk<{ id: string }>(writer, 'POST /session', {})).id
  assert.equal((await send(reader, 'GET /api/me')).json()['role'], 'viewer')
  assert.equal((await send(reader, `GET /session/${made}`)).status, 200)
  assert.equal((await send(reader, 'POST /session', {})).status, 403)
  assert.equal((await ask(reader)).status, 403)
})

test('disabling a user stops its keys and those that they created, enabling it brings them back', async () => {
  const user = await newUser({ kind: 'service_account', role: 'admin' })
  const key = await holderOf(service, { user_id: user.id, role: 'admin' })
  const child = await holderOf(key)
  assert.equal((await ask(child)).status, 200)
  await sendOk(service, `PATCH /api/users/${user.id}`, { body: { is_disabled: true } })
  for (const target of [key, child]) await eventually(async () => (await ask(target)).status === 401)
  await sendOk(service, `PATCH /api/users/${user.id}`, { body: { is_disabled: false } })
  await eventually(async () => (await ask(child)).status === 200)
  await sendOk(service, `DELETE /api/users/${user.id}`)
  await eventually(async () => (await ask(child)).status === 401)
  assert.equal((await send(service, `GET /api/users/${user.id}`)).status, 404)
})

test('a key acts for a team of its user only, and stops when the user leaves it', async () => {
  const [user, team, other] = [await newUser(), await newTeam(), await newTeam({ name: 'Other' })]
  await join(team, user)
  for (const [body, reason] of [
    [{ user_id: user.id, team_id: other.id }, /is not a team of user/],
    [{ user_id: 'user_none' }, /user_id user_none does not exist/],
    [{ team_id: 'team_none' }, /team_id team_none does not exist/],
    [{ user_id: user.id, owner_id: other.owner_id }, /owner_id must be that of the user or of its team/],
  ] as const) {
    const answer = await send(service, 'POST /api/keys', { body })
    assert.equal(answer.status, 400)
    assert.match(answer.text, reason)
  }
  const key = await holderOf(service, { user_id: user.id, team_id: team.id, owner_id: team.owner_id })
  assert.equal((await send(key, 'GET /api/me')).json()['owner_id'], team.owner_id)
  assert.equal((await send(service, `DELETE /api/teams/${team.id}/members/${user.id}`)).status, 204)
  await eventually(async () => (await send(key, 'GET /api/me')).status === 401)
  await join(team, user)
  await eventually(async () => (await send(key, 'GET /api/me')).status === 200)
  await sendOk(service, `DELETE /api/teams/${team.id}`)
  await eventually(async () => (await send(key, 'GET /api/me')).status === 401)
})

test('a changed role also applies to a key that was changed meanwhile', async () => {
  const user = await newUser()
  const key = await holderOf(service, { user_id: user.id, role: 'admin' })
  const changed = await sendOk<ApiKey>(service, `PATCH /api/keys/${key.id}`, { body: { label: 'changed' } })
  assert.deepEqual([changed.role, changed.owner_id], ['user', user.id])
  await sendOk(service, `PATCH /api/users/${user.id}`, { body: { role: 'admin' } })
  const { role, owner_id } = await sendOk<ApiKey>(service, `GET /api/keys/${key.id}`)
  assert.deepEqual([role, owner_id], ['admin', null])
})

test('a limited admin key charges no team and makes no keys for users', async () => {
  const [user, team] = [await newUser({ owner_id: 'limited' }), await newTeam()]
  const limited = await holderOf(service, { role: 'admin', owner_id: 'limited' })
  for (const body of [{ team_id: team.id }, { user_id: user.id }]) {
    const answer = await send(limited, 'POST /api/keys', { body })
    assert.equal(answer.status, 403)
    assert.match(answer.text, /only an admin without limits may set user_id or team_id/)
  }
  assert.equal((await send(limited, 'POST /api/keys', { body: {} })).status, 201)
})

test('the models of a team limit the calls of an admin, but not the rights', async () => {
  const [user, team] = [await newUser({ role: 'admin' }), await newTeam({ models: ['other'] })]
  await join(team, user)
  const key = await holderOf(service, { user_id: user.id, role: 'admin' })
  assert.equal((await ask(key)).status, 403)
  assert.equal((await send(key, 'GET /api/users')).status, 200)
})

test('what a disabled user set up stops with its keys', async () => {
  const user = await newUser()
  const key = await holderOf(service, { user_id: user.id })
  const body = { url: 'https://receiver.invalid/hook' }
  const { id } = await sendOk<{ id: string }>(key, 'POST /api/webhook-endpoints', { body })
  await sendOk(service, `PATCH /api/users/${user.id}`, { body: { is_disabled: true } })
  await eventually(async () => {
    const endpoint = await sendOk<{ status: string }>(service, `GET /api/webhook-endpoints/${id}`)
    return endpoint.status === 'disabled'
  })
})

test('the models of a team limit every key of its members, also those without a team', async () => {
  const [user, team] = [await newUser(), await newTeam({ models: ['other'] })]
  const key = await holderOf(service, { user_id: user.id })
  assert.equal((await ask(key)).status, 200)
  await join(team, user)
  await eventually(async () => (await ask(key)).status === 403)
  await sendOk(service, `PATCH /api/teams/${team.id}`, { body: { models: ['dem*'] } })
  await eventually(async () => (await ask(key)).status === 200)
  const narrow = await holderOf(service, { user_id: user.id, models: ['other'] })
  assert.equal((await ask(narrow)).status, 403, 'lists without a common model allow none')
})

test('the budget of a team limits the calls of all its members together', async () => {
  const [ada, bob, team] = [await newUser(), await newUser(), await newTeam()]
  for (const user of [ada, bob]) await join(team, user)
  const keys = [await holderOf(service, { user_id: ada.id }), await holderOf(service, { user_id: bob.id })]
  const budget = `/api/budgets/team/${team.id}`
  await sendOk(service, `PUT ${budget}`, { body: { rpm_limit: 2 } })
  const [first, second] = keys
  assert.ok(first && second)
  await eventually(async () => {
    const { status, text } = await ask(first)
    return status === 429 && assert.match(text, new RegExp(`team ${team.id} has reached its limit`)) === undefined
  })
  assert.equal((await ask(second)).status, 429)
  const shown = await sendOk<Budget>(service, `GET ${budget}`)
  assert.deepEqual([shown.scope, shown.scope_name, shown.rpm_limit], ['team', 'Data', 2])
  assert.equal((await send(service, `DELETE ${budget}`)).status, 204)
  assert.equal((await send(service, 'PUT /api/budgets/team/team_none', { body: {} })).status, 404)
})

test('a key for a user or team that is being deleted is created before that, or rejected', async () => {
  for (let round = 0; round < 10; round++) {
    const [user, team] = [await newUser(), await newTeam()]
    const answers = await Promise.all([
      send(service, `DELETE /api/users/${user.id}`),
      send(service, 'POST /api/keys', { body: { user_id: user.id } }),
      send(service, `DELETE /api/teams/${team.id}`),
      send(service, 'POST /api/keys', { body: { team_id: team.id } }),
    ])
    const [, ofUser = 0, , ofTeam = 0] = answers.map(({ status }) => status)
    for (const status of [ofUser, ofTeam]) assert.ok(status === 201 || status === 400, String(status))
  }
})
