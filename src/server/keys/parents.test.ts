import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf, startKeysApp } from '../../../test/support/keys/keys-app.ts'
import { freshDatabase } from '../../../test/support/service/database.ts'
import type { ApiKey, ApiKeyWrite } from '../../contract/keys.ts'

const { pool } = await freshDatabase()
const { call, made, read, opens } = startKeysApp(pool)

const limited: readonly (readonly [what: string, limits: ApiKeyWrite])[] = [
  ['an owner', { owner_id: 'ada' }],
  ['models', { models: ['demo'] }],
  ['a budget', { max_budget: 1 }],
  ['a rate limit', { rpm_limit: 10 }],
]

test('M1: parent_id is the key that created a key and cannot be changed', async () => {
  const parent = await made({ role: 'admin', max_budget: 1 })
  assert.equal(parent.parent_id, null)
  const child = await made({}, { as: parent.key })
  assert.equal(child.parent_id, parent.id)
  const renamed = await call(`PATCH /api/keys/${child.id}`, { body: { label: 'mine' } })
  assert.equal(renamed.json<ApiKey>().parent_id, parent.id)
})

test('M1: revoking a key revokes exactly its descendants, each with an entry in the audit log', async () => {
  const first = await made({ role: 'admin', max_budget: 1 })
  const second = await made({ role: 'admin' }, { as: first.key })
  const third = await made({}, { as: second.key })
  const other = await made({ role: 'admin' })
  assert.equal(await opens(third.key), true)
  assert.equal((await call(`DELETE /api/keys/${first.id}`)).status, 204)
  for (const { id, key } of [first, second, third]) {
    assert.notEqual((await read(id)).revoked_at, null)
    assert.equal(await opens(key), false)
    const entries = await pool.query(`select from audit_log where action = 'key.delete' and object_id = $1`, [id])
    assert.equal(entries.rowCount, 1)
  }
  assert.equal(await opens(other.key), true)
})

test('M1: a key that is created while an ancestor is revoked is either revoked as well or not created', async () => {
  const first = await made({ role: 'admin', max_budget: 1 })
  const second = await made({ role: 'admin' }, { as: first.key })
  const creations = Array.from({ length: 20 }, () => call('POST /api/keys', { as: second.key, body: {} }))
  const [answers] = await Promise.all([Promise.all(creations), call(`DELETE /api/keys/${first.id}`)])
  for (const answer of answers) {
    if (answer.status !== 201) assert.equal(answer.status, 401, answer.text)
    else assert.notEqual((await read(answer.json<ApiKey>().id)).revoked_at, null)
  }
})

test('M1: no key outlives its parent', async () => {
  const parent = await made({ role: 'admin', max_budget: 1, duration: '30d' })
  const child = await made({}, { as: parent.key })
  const sooner = new Date(Date.now() + 3_600_000).toISOString()
  assert.equal((await call(`PATCH /api/keys/${parent.id}`, { body: { expires_at: sooner } })).status, 200)
  assert.equal((await read(child.id)).expires_at, sooner)
  const longer = await call(`PATCH /api/keys/${child.id}`, { body: { expires_at: null } })
  assert.equal(longer.status, 400)
  assert.equal(messageOf(longer), `expires_at is later than that of the parent key (${sooner})`)
})

test('M1: keys nest eight levels deep', async () => {
  let key = (await made({ role: 'admin', max_budget: 1 })).key
  for (let depth = 1; depth <= 8; depth++) key = (await made({ role: 'admin' }, { as: key })).key
  const deeper = await call('POST /api/keys', { as: key, body: {} })
  assert.equal(deeper.status, 409)
  assert.match(messageOf(deeper), /^keys nest at most 8 levels/)
})

for (const [what, limits] of limited) {
  test(`M2: an admin key limited by ${what} sees, changes, rotates and revokes only its descendants`, async () => {
    const own = await made({ role: 'admin', ...limits })
    const child = await made({ role: 'admin' }, { as: own.key })
    const grandchild = await made({}, { as: child.key })
    const others = [await made({ role: 'admin' }), await made(limits), await made({ role: 'admin', ...limits })]
    for (const { id, key } of others) {
      const before = await read(id)
      for (const line of ['GET', 'PATCH', 'DELETE'].map(method => `${method} /api/keys/${id}`)) {
        const answer = await call(line, { as: own.key, ...(line.startsWith('P') && { body: { max_budget: 1 } }) })
        assert.equal(answer.status, 404, line)
      }
      assert.equal((await call(`POST /api/keys/${id}/rotate`, { as: own.key })).status, 404)
      assert.deepEqual(await read(id), before)
      assert.equal(await opens(key), true)
    }
    const { keys } = (await call('GET /api/keys', { as: own.key })).json<{ keys: ApiKey[] }>()
    assert.deepEqual(
      keys.map(({ id }) => id),
      [grandchild.id, child.id],
    )
    for (const { id } of [grandchild, child]) {
      assert.equal((await call(`PATCH /api/keys/${id}`, { as: own.key, body: { label: 'new' } })).status, 200)
      assert.equal((await call(`POST /api/keys/${id}/rotate`, { as: own.key })).status, 200)
      assert.equal((await call(`DELETE /api/keys/${id}`, { as: own.key })).status, 204)
    }
  })
}

test('M2: an admin key with an expiry time cannot revoke or change keys that expire later', async () => {
  const own = await made({ role: 'admin', duration: '1h' })
  const lasting = await made({ role: 'admin' })
  for (const line of [`DELETE /api/keys/${lasting.id}`, `PATCH /api/keys/${lasting.id}`]) {
    const answer = await call(line, { as: own.key, ...(line.startsWith('P') && { body: { duration: '1m' } }) })
    const message = `expires_at exceeds the limit of your own key (${own.expires_at})`
    assert.deepEqual([answer.status, messageOf(answer)], [403, message])
  }
  assert.equal(await opens(lasting.key), true)
})

test('M2: the limits of ancestors apply to an admin key: a child without own limits stays limited', async () => {
  const parent = await made({ role: 'admin', max_budget: 1 })
  const child = await made({ role: 'admin' }, { as: parent.key })
  assert.equal((await call(`PATCH /api/keys/${child.id}`, { body: { max_budget: null } })).status, 200)
  const stranger = await made()
  assert.equal((await call(`DELETE /api/keys/${stranger.id}`, { as: child.key })).status, 404)
})
