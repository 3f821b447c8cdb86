import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import type { VaultEntry } from '../../contract/vault.ts'
import { createAudit } from '../audit/audit.ts'
import { auditStore } from '../audit/store.ts'
import { createRowCipher } from '../db/encrypted-rows.ts'
import { type Caller, masterCaller } from '../http/caller.ts'
import { createServer } from '../http/server.ts'
import { createKeyring } from '../platform/encryption.ts'
import { AppError } from '../platform/errors.ts'
import { createLog } from '../platform/log.ts'
import { serveVault } from './routes.ts'
import { vaultStore } from './store.ts'
import { useStore } from './use-store.ts'
import { createVault } from './vault.ts'

const { pool, db } = await freshDatabase()
const keyring = createKeyring([randomBytes(32)])
const store = vaultStore(pool)
const audit = createAudit(auditStore(db))
const vault = createVault({ store, uses: useStore(pool), cipher: createRowCipher(keyring, 'vault_entries'), audit })

const callers = {
  master: masterCaller,
  admin: { ...masterCaller, principal: 'key_admin' },
  scopedAdmin: { ...masterCaller, principal: 'ana', ownerScope: 'ana' },
  ana: { principal: 'ana', role: 'user', ownerScope: 'ana', key: undefined },
  bo: { principal: 'bo', role: 'user', ownerScope: 'bo', key: undefined },
  label: { principal: 'key_label', role: 'user', ownerScope: undefined, key: undefined },
} as const satisfies Record<string, Caller>
type Name = keyof typeof callers

const app = createServer({
  authenticate: ({ headers }) => callers[String(headers['x-api-key']) as Name],
  log: createLog('silent'),
})
serveVault(app, { vault })

const answers: string[] = []
async function call(caller: Name, line: string, payload?: object) {
  const [method, url = ''] = line.split(' ')
  const headers = { 'x-api-key': caller }
  const answer = await app.inject({ method: method as 'GET', url, headers, ...(payload && { payload }) })
  answers.push(answer.body, JSON.stringify(answer.headers))
  return answer
}
const set = (caller: Name, payload: object) => call(caller, 'POST /api/vault', payload)

interface Listed {
  readonly keys: VaultEntry[]
  readonly next_cursor: string | null
}
async function list(caller: Name, query = ''): Promise<Listed> {
  const answer = await call(caller, `GET /api/vault${query}`)
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json()
}
const namesFor = async (caller: Name): Promise<string[]> =>
  (await list(caller)).keys.map(({ key, scope }) => `${scope} ${key}`)
const empty = () => pool.query('delete from vault_entries')

test('POST /api/vault stores a secret, and GET lists only its name, scope, times and uses', async () => {
  await empty()
  const answer = await set('ana', { key: 'GITHUB_TOKEN', value: 'ghp_1', scope: 'owner' })
  assert.equal(answer.statusCode, 200)
  assert.deepEqual(answer.json(), { ok: true })
  const { keys, next_cursor } = await list('ana')
  const [{ updated_at = '', created_at, ...entry } = {}, ...rest] = keys
  const unused = { last_used_at: null, used_by: [], used_by_count: 0 }
  assert.deepEqual([entry, rest, next_cursor], [{ key: 'GITHUB_TOKEN', scope: 'owner', ...unused }, [], null])
  assert.equal(created_at, updated_at)
  assert.ok(Math.abs(Date.parse(updated_at) - Date.now()) < 60_000)
  assert.equal(await vault.value({ name: 'GITHUB_TOKEN', ownerId: 'ana' }), 'ghp_1')
})

test('DELETE /api/vault/{key} removes it; an unknown one is 404', async () => {
  await empty()
  await set('ana', { key: 'gone', value: 'x' })
  const answer = await call('ana', 'DELETE /api/vault/gone')
  assert.equal(answer.statusCode, 200)
  assert.deepEqual(answer.json(), { ok: true })
  assert.equal(await vault.value({ name: 'gone', ownerId: 'ana' }), undefined)
  const again = await call('ana', 'DELETE /api/vault/gone')
  assert.equal(again.statusCode, 404)
  assert.deepEqual(again.json(), { error: { type: 'gateway_error', message: 'vault entry gone not found' } })
})

test('S15: scope and owner decide who may set, see and delete an entry, and whose agents get it', async () => {
  const matrix: Record<Name, { global: 200 | 403; unscoped: 'global' | 'owner' }> = {
    master: { global: 200, unscoped: 'global' },
    admin: { global: 200, unscoped: 'global' },
    scopedAdmin: { global: 403, unscoped: 'owner' },
    ana: { global: 403, unscoped: 'owner' },
    bo: { global: 403, unscoped: 'owner' },
    label: { global: 403, unscoped: 'owner' },
  }
  for (const [name, expected] of Object.entries(matrix) as [Name, (typeof matrix)[Name]][]) {
    await empty()
    const { principal } = callers[name]
    const others = (Object.keys(callers) as Name[]).filter(other => callers[other].principal !== principal)

    assert.equal((await set(name, { key: 'g', value: 'everybody', scope: 'global' })).statusCode, expected.global, name)
    assert.equal((await call(name, 'DELETE /api/vault/g?scope=global')).statusCode, expected.global, name)
    if (expected.global === 403) {
      await set('master', { key: 'g', value: 'everybody', scope: 'global' })
      assert.deepEqual(await namesFor(name), [], `${name} does not see global names`)
      assert.equal((await call(name, 'DELETE /api/vault/g')).statusCode, 404, name)
      assert.equal(await vault.value({ name: 'g', ownerId: principal }), 'everybody')
    }

    await empty()
    assert.equal((await set(name, { key: 'o', value: 'mine', scope: 'owner' })).statusCode, 200, name)
    assert.deepEqual(await namesFor(name), ['owner o'])
    assert.equal(await vault.value({ name: 'o', ownerId: principal }), 'mine')
    assert.equal(await vault.value({ name: 'o', ownerId: undefined }), undefined)
    for (const other of others) {
      assert.deepEqual(await namesFor(other), [], `${other} must not see an entry of ${name}`)
      assert.equal((await call(other, 'DELETE /api/vault/o')).statusCode, 404)
      assert.equal((await call(other, 'DELETE /api/vault/o?scope=owner')).statusCode, 404)
      assert.equal(await vault.value({ name: 'o', ownerId: callers[other].principal }), undefined)
    }

    await empty()
    await set(name, { key: 'u', value: 'x' })
    assert.deepEqual(await namesFor(name), [`${expected.unscoped} u`], `${name} without a scope`)
  }
})

test("S15: an agent's owner comes before global, for reading and for deleting without a scope", async () => {
  await empty()
  await set('master', { key: 'token', value: 'global value', scope: 'global' })
  await set('master', { key: 'token', value: 'own value', scope: 'owner' })
  assert.equal(await vault.value({ name: 'token', ownerId: 'master' }), 'own value')
  assert.equal(await vault.value({ name: 'token', ownerId: 'ana' }), 'global value')
  assert.equal(await vault.value({ name: 'token', ownerId: undefined }), 'global value')
  assert.equal((await call('master', 'DELETE /api/vault/token')).statusCode, 200)
  assert.deepEqual(await namesFor('master'), ['global token'])
  assert.equal((await call('master', 'DELETE /api/vault/token?scope=owner')).statusCode, 404)
  assert.equal((await call('master', 'DELETE /api/vault/token')).statusCode, 200)
  assert.equal((await call('master', 'DELETE /api/vault/token')).statusCode, 404)
})

test('each change of an entry, also a concurrent one, is encrypted as a new version', async () => {
  await empty()
  const values = Array.from({ length: 12 }, (_, at) => `value ${at}`)
  const answers = await Promise.all(values.map(value => set('bo', { key: 'busy', value })))
  assert.deepEqual(new Set(answers.map(({ statusCode }) => statusCode)), new Set([200]))
  const { rows } = await pool.query('select version, key_id from vault_entries')
  assert.deepEqual(rows, [{ version: 12, key_id: keyring.currentId }])
  assert.ok(values.includes((await vault.value({ name: 'busy', ownerId: 'bo' })) ?? ''))
})

test('concurrent sets and deletes of one entry never fail, and the entry stays readable', async () => {
  const work = Array.from({ length: 30 }, (_, at) =>
    at % 3 === 0 ? call('bo', 'DELETE /api/vault/busy') : set('bo', { key: 'busy', value: `value ${at}` }),
  )
  for (const { statusCode } of await Promise.all(work)) assert.ok(statusCode === 200 || statusCode === 404)
  await set('bo', { key: 'busy', value: 'last' })
  assert.equal(await vault.value({ name: 'busy', ownerId: 'bo' }), 'last')
})

test('the list is paged by name without gaps or repeats, own and global entries of one name side by side', async () => {
  await empty()
  for (const key of ['b', 'a', 'd', 'c']) {
    await set('master', { key, value: 'x', scope: 'global' })
    await set('master', { key, value: 'x', scope: 'owner' })
  }
  const seen: string[] = []
  for (let query = '?limit=3'; query !== ''; ) {
    const { keys, next_cursor } = await list('master', query)
    seen.push(...keys.map(({ key, scope }) => `${key} ${scope}`))
    query = next_cursor === null ? '' : `?limit=3&cursor=${next_cursor}`
  }
  assert.deepEqual(
    seen,
    ['a', 'b', 'c', 'd'].flatMap(key => [`${key} global`, `${key} owner`]),
  )
  assert.equal((await call('master', 'GET /api/vault?cursor=bm9uZQ')).statusCode, 400)
})

const rejected: readonly (readonly [guarantee: string, body: object, message: RegExp])[] = [
  ['no key', { value: 'x' }, /key is required/],
  ['no value', { key: 'k' }, /value is required/],
  ['an empty value', { key: 'k', value: '' }, /value must not be empty/],
  ['a value of more than 64 KB', { key: 'k', value: 'x'.repeat(65_537) }, /value must NOT have more than 65536/],
  ['a value of more than 64 KB in UTF-8', { key: 'k', value: 'ä'.repeat(32_769) }, /value must have at most 65536/],
  ['an unpaired surrogate', { key: 'k', value: 'x\ud800' }, /unpaired surrogate/],
  ['a value that is no text', { key: 'k', value: 1 }, /value must be string/],
  ['an unknown scope', { key: 'k', value: 'x', scope: 'team' }, /scope must be one of "global", "owner"/],
  ...['', ' ', 'a b', 'a/b', '../x', '.hidden', '..', 'ä', 'k\n', 'x'.repeat(201)].map(
    key => [`the name ${JSON.stringify(key.slice(0, 20))}`, { key, value: 'x' }, /^key must/] as const,
  ),
]
for (const [guarantee, body, message] of rejected) {
  test(`POST /api/vault rejects ${guarantee} with 400 and names the field`, async () => {
    const answer = await set('master', body)
    assert.equal(answer.statusCode, 400, answer.body)
    assert.match(answer.json().error.message, message)
  })
}

test('a name and a value of maximum length are stored unchanged', async () => {
  const key = `A-z_0.${'x'.repeat(194)}`
  const value = `${'ä'.repeat(32_767)}\n\n`
  assert.equal((await set('ana', { key, value })).statusCode, 200)
  assert.equal(await vault.value({ name: key, ownerId: 'ana' }), value)
  assert.equal((await call('ana', `DELETE /api/vault/${key}`)).statusCode, 200)
})

test('S55: each change adds one row to the audit log, with scope and version and without the value', async () => {
  await empty()
  const rows = async () => {
    const text = `select action, object_id, owner_id, principal, before, after from audit_log where object_id = 'audited' order by id`
    return (await pool.query(text)).rows
  }
  await set('ana', { key: 'audited', value: 'canary-1' })
  await set('ana', { key: 'audited', value: 'canary-2' })
  await call('ana', 'DELETE /api/vault/audited')
  await call('ana', 'DELETE /api/vault/audited')
  await set('master', { key: 'audited', value: 'canary-3' })
  const owner = (version: number) => ({ scope: 'owner', version })
  const ana = { object_id: 'audited', owner_id: 'ana', principal: 'ana' }
  assert.deepEqual(await rows(), [
    { ...ana, action: 'vault.set', before: null, after: owner(1) },
    { ...ana, action: 'vault.set', before: owner(1), after: owner(2) },
    { ...ana, action: 'vault.delete', before: owner(2), after: null },
    {
      ...ana,
      action: 'vault.set',
      owner_id: null,
      principal: 'master',
      before: null,
      after: { scope: 'global', version: 1 },
    },
  ])
})

test('a change whose audit entry cannot be written is rolled back', async () => {
  const failing = createVault({
    store,
    uses: useStore(pool),
    cipher: createRowCipher(keyring, 'vault_entries'),
    audit: { record: () => Promise.reject(new Error('the log is full')) },
  })
  const by = {
    caller: callers.ana,
    actor: { ...callers.ana, keyId: undefined, address: undefined, requestId: undefined },
  }
  await set('ana', { key: 'kept', value: 'old' })
  await assert.rejects(failing.set({ key: 'kept', value: 'new' }, by), /the log is full/)
  await assert.rejects(failing.remove({ key: 'kept' }, by), /the log is full/)
  assert.equal(await vault.value({ name: 'kept', ownerId: 'ana' }), 'old')
})

test('S11: an encrypted value moved to another entry, owner or version cannot be decrypted', async () => {
  await empty()
  await set('ana', { key: 'one', value: 'secret of ana' })
  await set('ana', { key: 'two', value: 'other' })
  await set('bo', { key: 'one', value: 'secret of bo' })
  const moves = [
    `update vault_entries set sealed = (select sealed from vault_entries where owner_id = 'ana' and key = 'one') where owner_id = 'bo'`,
    `update vault_entries set sealed = (select sealed from vault_entries where owner_id = 'ana' and key = 'one') where key = 'two'`,
    `update vault_entries set version = 7 where owner_id = 'ana' and key = 'one'`,
  ]
  for (const move of moves) assert.equal((await pool.query(move)).rowCount, 1)
  for (const [name, ownerId] of [
    ['one', 'bo'],
    ['two', 'ana'],
    ['one', 'ana'],
  ] as const) {
    await assert.rejects(
      vault.value({ name, ownerId }),
      error =>
        error instanceof AppError && error.code === 'unavailable' && /cannot decrypt vault entry/.test(error.message),
    )
  }
})

test('S15: no response and no row has a value in plain text, base64 or hexadecimal', async () => {
  const canary = `canary-${randomBytes(12).toString('hex')}`
  for (const name of Object.keys(callers) as Name[]) {
    await set(name, { key: `holds-${name}`, value: canary })
    await set(name, { key: `holds-${name}`, value: canary, scope: 'nowhere' })
    await set(name, { key: '', value: canary })
    await list(name)
  }
  const { rows } = await pool.query(`select row_to_json(v)::text as row from vault_entries v
    union all select row_to_json(a)::text from audit_log a`)
  assert.ok(rows.length > 6)
  const everything = [...answers, ...rows.map(({ row }) => row)].join('\n')
  for (const form of ['utf8', 'base64', 'hex', 'base64url'] as const) {
    assert.equal(everything.includes(Buffer.from(canary).toString(form)), false, form)
  }
})

test('an entry shows what uses it and when it was used last, and GET names what its deletion breaks', async () => {
  await set('ana', { key: 'HOOK', value: 'one' })
  await set('ana', { key: 'git.github.com', value: 'two' })
  await set('master', { key: 'HOOK', value: 'three' })
  const agent = (id: string, owner: string, config: object) =>
    pool.query(
      `insert into agents (id, owner_id, name, model, system, harness, tools, config)
       values ($1, $2, 'Scribe', 'demo', '', 'builtin', '{}', $3)`,
      [id, owner, JSON.stringify(config)],
    )
  await agent('agent_1', 'ana', { webhook: { secret_key: 'HOOK', signature: { secret_key: 'HOOK' } } })
  await agent('agent_2', 'cy', { network: { secrets: [{ vault_key: 'HOOK' }, 'odd'] } })
  await pool.query(
    `insert into mcp_servers (server_id, server_name, url, auth_type, has_credentials, vault_key, static_headers, version, created_by)
     values ('mcp_1', 'git', 'https://mcp.example.com', 'bearer_token', false, 'HOOK', '{}', 1, 'master')`,
  )
  const read = async (caller: Name, query = '') => {
    const answer = await app.inject({ url: `/api/vault/HOOK${query}`, headers: { 'x-api-key': caller } })
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json<VaultEntry>()
  }
  const own = await read('ana')
  assert.deepEqual([own.scope, own.last_used_at, own.used_by_count], ['owner', null, 2])
  assert.deepEqual(
    own.used_by.map(({ kind, id, field }) => [kind, id, field]),
    [
      ['agent', 'agent_1', 'config.webhook.secret_key'],
      ['agent', 'agent_1', 'config.webhook.signature.secret_key'],
    ],
  )
  // Ana's agents have an entry of their owner, so they do not read the global one.
  assert.deepEqual(
    (await read('master', '?scope=global')).used_by.map(({ kind, id }) => [kind, id]),
    [
      ['agent', 'agent_2'],
      ['mcp_server', 'mcp_1'],
    ],
  )
  assert.equal(await vault.value({ name: 'HOOK', ownerId: 'ana' }), 'one')
  assert.ok(await eventually(async () => (await read('ana')).last_used_at ?? false))
  assert.equal((await read('master', '?scope=global')).last_used_at, null)

  const { keys } = (await app.inject({ url: '/api/vault', headers: { 'x-api-key': 'ana' } })).json<{
    keys: VaultEntry[]
  }>()
  const git = keys.find(({ key }) => key === 'git.github.com')
  assert.deepEqual(
    git?.used_by.map(({ kind, id }) => [kind, id]),
    [['git_host', 'github.com']],
  )
  for (const [caller, url] of [
    ['bo', '/api/vault/HOOK'],
    ['ana', '/api/vault/NONE'],
  ] as const)
    assert.equal((await app.inject({ url, headers: { 'x-api-key': caller } })).statusCode, 404)
  const global = await app.inject({ url: '/api/vault/HOOK?scope=global', headers: { 'x-api-key': 'ana' } })
  assert.equal(global.statusCode, 403)
})
