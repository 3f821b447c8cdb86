import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import type { AuditEntry } from '../../contract/audit.ts'
import { type RunSql, sqlOf } from '../db/once.ts'
import { masterCaller, serviceActor } from '../http/caller.ts'
import { createServer } from '../http/server.ts'
import { createLog } from '../platform/log.ts'
import { createAudit } from './audit.ts'
import { serveAudit } from './routes.ts'
import { auditStore } from './store.ts'

const { db, pool } = await freshDatabase()
const store = auditStore(db)
const audit = createAudit(store)
const ada = { principal: 'ada', role: 'user', keyId: 'key_1', address: '192.0.2.1', requestId: 'req_1' }

const app = createServer({
  authenticate: ({ headers }) => ({
    ...masterCaller,
    ...(headers['x-role'] === 'user' && { role: 'user' }),
    ...(headers['x-owner'] && { ownerScope: String(headers['x-owner']) }),
  }),
  log: createLog('silent'),
})
serveAudit(app, { log: store })

const inTransaction = (work: (sql: RunSql) => Promise<void>) => db.transaction().execute(trx => work(sqlOf(trx)))
const record = (action: string, objectId: string, principal = 'ada') =>
  inTransaction(sql => audit.record(sql, { actor: { ...ada, principal }, action, objectId }))

interface Listed {
  readonly entries: AuditEntry[]
  readonly next_cursor: string | null
}
const list = async (query: string): Promise<Listed> => {
  const answer = await app.inject(`/api/audit?${query}`)
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json()
}
const pathsOf = ({ entries }: Listed) => entries.map(({ action, object_id }) => `${action} ${object_id}`)

test('GET /api/audit lists who changed what, from where, with the public fields before and after', async () => {
  const change = { action: 'key.update', objectId: 'key_9', ownerId: 'team' }
  await inTransaction(sql =>
    audit.record(sql, { actor: ada, ...change, before: { label: 'a', n: [1, null] }, after: { label: 'ä"\0' } }),
  )
  const [entry, ...rest] = (await list('object_id=key_9')).entries
  const { id, created_at, ...fields } = entry ?? assert.fail('no entry')
  assert.match(id, /^aud_/)
  assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000)
  assert.deepEqual(fields, {
    principal: 'ada',
    role: 'user',
    key_id: 'key_1',
    address: '192.0.2.1',
    request_id: 'req_1',
    action: 'key.update',
    object_id: 'key_9',
    owner_id: 'team',
    before: { label: 'a', n: [1, null] },
    after: { label: 'ä"\0' },
  })
  assert.deepEqual(rest, [])
})

test('an entry of the service itself has no address and no key, and a new object has no fields before', async () => {
  await inTransaction(sql => audit.record(sql, { actor: serviceActor, action: 'key.expire', objectId: 'key_s' }))
  const { id: _, created_at: __, ...fields } = (await list('object_id=key_s')).entries[0] ?? assert.fail('no entry')
  assert.deepEqual(fields, {
    principal: 'service',
    role: 'service',
    key_id: null,
    address: null,
    request_id: null,
    action: 'key.expire',
    object_id: 'key_s',
    owner_id: null,
    before: null,
    after: null,
  })
})

test('S17: a secret that a caller passes by mistake is not stored', async () => {
  const after = { label: 'x', api_key: 'canary-0001', nested: [{ Authorization: 'canary-0001' }] }
  await inTransaction(sql => audit.record(sql, { actor: ada, action: 'key.create', objectId: 'key_c', after }))
  const { rows } = await pool.query(`select row_to_json(a)::text as row from audit_log a where object_id = 'key_c'`)
  assert.doesNotMatch(rows[0].row, /canary/)
  assert.match(rows[0].row, /\[secret\]/)
})

test('an entry and its change are committed or rolled back together', async () => {
  const failed = inTransaction(async sql => {
    await audit.record(sql, { actor: ada, action: 'key.create', objectId: 'key_rolled_back' })
    throw new Error('the change failed')
  })
  await assert.rejects(failed, /the change failed/)
  assert.deepEqual((await list('object_id=key_rolled_back')).entries, [])
  const refused = inTransaction(async sql => {
    await sql(`insert into agent_versions (agent_id, version, snapshot) values ('a', 1, '{}')`, [])
    await audit.record(sql, { actor: ada, action: 'agent.create', objectId: 'a\0' })
  })
  await assert.rejects(refused)
  const { rowCount } = await pool.query('select from agent_versions')
  assert.equal(rowCount, 0)
})

test('the log is append-only: update, delete and truncate are rejected', async () => {
  await record('key.create', 'key_kept')
  const before = await pool.query('select * from audit_log order by id')
  for (const statement of [
    `update audit_log set principal = 'nobody'`,
    `update audit_log set action = action where object_id = 'key_kept'`,
    'delete from audit_log',
    `delete from audit_log where object_id = 'key_kept'`,
    'truncate audit_log',
    'truncate audit_log cascade',
  ]) {
    await assert.rejects(pool.query(statement), /audit_log is append-only/, statement)
  }
  assert.deepEqual((await pool.query('select * from audit_log order by id')).rows, before.rows)
})

test('entries are listed newest first and filtered by action, object and principal, and pages skip none', async () => {
  for (let at = 0; at < 5; at++) await record('page.create', `p${at}`, 'pager')
  await inTransaction(async sql => {
    // Within one millisecond, and some within one microsecond.
    for (let at = 5; at < 30; at++) {
      await audit.record(sql, { actor: { ...ada, principal: 'pager' }, action: 'page.drop', objectId: `p${at}` })
    }
  })
  await pool.query(`alter table audit_log disable trigger audit_log_is_append_only`)
  await pool.query(
    `update audit_log set created_at = (select max(created_at) from audit_log) where action = 'page.drop'`,
  )
  await pool.query(`alter table audit_log enable trigger audit_log_is_append_only`)
  const all = pathsOf(await list('principal=pager'))
  assert.equal(all.length, 30)
  assert.deepEqual(all.slice(-2), ['page.create p1', 'page.create p0'])
  const seen: string[] = []
  let cursor = ''
  do {
    const page = await list(`principal=pager&limit=4${cursor}`)
    seen.push(...pathsOf(page))
    cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`
  } while (cursor !== '')
  assert.deepEqual(seen, all)
  assert.equal((await list('action=page.*&limit=200')).entries.length, 30)
  assert.equal((await list('action=page.drop&limit=200')).entries.length, 25)
  assert.deepEqual(pathsOf(await list('action=page.drop&object_id=p7')), ['page.drop p7'])
  assert.deepEqual(pathsOf(await list('action=pag.*')), [])
  assert.deepEqual(pathsOf(await list('principal=nobody')), [])
})

test('entries are found by key, by owner of the object and by request', async () => {
  const [entry] = (await list('action=page.create&object_id=p1')).entries
  const { rowCount } = await pool.query(
    `insert into audit_log (id, principal, role, key_id, request_id, action, object_id, owner_id)
     values ('aud_own', 'pager', 'user', 'key_own', 'req_own', 'page.own', 'p1', 'own')`,
  )
  assert.deepEqual([rowCount, entry?.object_id], [1, 'p1'])
  for (const query of ['key_id=key_own', 'owner_id=own', 'request_id=req_own', 'owner_id=own&object_id=p1'])
    assert.deepEqual(pathsOf(await list(query)), ['page.own p1'], query)
  assert.deepEqual(pathsOf(await list('owner_id=own&key_id=other')), [])
})

test('from and to are a half-open range', async () => {
  await record('time.create', 't')
  const at = (await list('action=time.create')).entries[0]?.created_at ?? ''
  const later = new Date(Date.parse(at) + 1).toISOString()
  assert.equal((await list(`action=time.*&from=${at}`)).entries.length, 1)
  assert.equal((await list(`action=time.*&from=${at}&to=${later}`)).entries.length, 1)
  assert.equal((await list(`action=time.*&from=${later}`)).entries.length, 0)
  assert.equal((await list(`action=time.*&to=${at}`)).entries.length, 0)
})

for (const [query, message] of [
  ['action=key', /action/],
  ['action=*', /action/],
  ['action=key.%25', /action/],
  ['from=yesterday', /from must be/],
  ['to=2026-02-30', /to must be/],
  ['from=2026-02-02&to=2026-02-01', /to must be later/],
  ['cursor=nonsense', /cursor/],
  [`cursor=${Buffer.from(`1.x'; drop table audit_log`).toString('base64url')}`, /cursor/],
  [`cursor=${Buffer.from(`99999999999999999.x`).toString('base64url')}`, /cursor/],
  ['format=xml', /format/],
  ['limit=0', /limit/],
] as const) {
  test(`GET /api/audit?${query} is 400 and names the field`, async () => {
    const answer = await app.inject(`/api/audit?${query}`)
    assert.equal(answer.statusCode, 400, answer.body)
    assert.match(answer.json().error.message, message)
  })
}

test('GET /api/audit is 403 for the role user', async () => {
  assert.equal((await app.inject({ url: '/api/audit', headers: { 'x-role': 'user' } })).statusCode, 403)
  const csv = await app.inject({ url: '/api/audit?format=csv', headers: { 'x-role': 'user' } })
  assert.equal(csv.statusCode, 403)
})

test('S10: an admin of one owner sees only the changes of that owner', async () => {
  for (const ownerId of ['left', 'right', null]) {
    const change = { actor: ada, action: 'owned.create', objectId: `of ${ownerId}`, ownerId }
    await inTransaction(sql => audit.record(sql, change))
  }
  const seenBy = (owner: string, query: string) =>
    app.inject({ url: `/api/audit?${query}`, headers: { 'x-owner': owner } })
  assert.deepEqual(pathsOf((await seenBy('left', 'action=owned.*')).json()), ['owned.create of left'])
  assert.deepEqual(pathsOf((await seenBy('left', 'object_id=of%20right')).json()), [])
  assert.equal((await seenBy('left', 'format=csv')).body.split('\r\n').length, 1 + 1 + 1)
  assert.equal((await list('action=owned.*')).entries.length, 3)
})

test('S47: format=csv returns every row as a download, and no cell starts a formula', async () => {
  await inTransaction(async sql => {
    for (let at = 0; at < 1_201; at++) await audit.record(sql, { actor: ada, action: 'csv.create', objectId: `c${at}` })
    const actor = { ...ada, principal: '=cmd|calc' }
    await audit.record(sql, { actor, action: 'csv.create', objectId: '@x', after: { name: 'a "b", c' } })
  })
  const answer = await app.inject('/api/audit?action=csv.*&format=csv&limit=1')
  assert.equal(answer.statusCode, 200)
  assert.match(String(answer.headers['content-type']), /^text\/csv/)
  assert.equal(answer.headers['content-disposition'], 'attachment; filename="audit.csv"')
  assert.equal(answer.headers['x-content-type-options'], 'nosniff')
  const lines = answer.body.split('\r\n')
  assert.equal(lines.length, 1 + 1_202 + 1)
  assert.match(lines[0] ?? '', /^created_at,id,principal,role,/)
  const nasty = lines.find(line => line.includes('calc')) ?? ''
  assert.match(nasty, /,'=cmd\|calc,user,/)
  assert.match(nasty, /,'@x,,,"\{""name"":""a \\""b\\"", c""\}"$/)
  assert.equal(new Set(lines.filter(line => /,c\d+,/.test(line))).size, 1_201)
})

test('a CSV that fails before the first row is an ordinary error response', async () => {
  const answer = await app.inject(`/api/audit?format=csv&from=never`)
  assert.equal(answer.statusCode, 400)
  assert.match(String(answer.headers['content-type']), /json/)
  assert.equal(answer.headers['content-disposition'], undefined)
})
