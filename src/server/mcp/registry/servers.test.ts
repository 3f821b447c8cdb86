import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startMcpApp } from '../../../../test/support/mcp/mcp-app.ts'
import { sendJson, startScriptedUpstream } from '../../../../test/support/mcp/scripted-upstream.ts'
import type { McpServer } from '../../../contract/mcp.ts'

const app = await startMcpApp()
const { call, registered } = app
const url = 'https://mcp.example.com/mcp'
type Failure = { error: { message: string } }

test('POST returns 201 with the record, and the server is found by id, name and alias', async () => {
  const made = await registered({ server_name: 'Git-Hub_1', alias: 'gh', url, allowed_tools: ['a'] })
  assert.match(made.server_id, /^mcp_/)
  const { server_id: _id, created_at: _created, updated_at: _updated, ...fields } = made
  assert.deepEqual(fields, {
    server_name: 'Git-Hub_1',
    alias: 'gh',
    description: null,
    url,
    transport: 'http',
    auth_type: 'none',
    oauth2_flow: null,
    has_credentials: false,
    has_login: null,
    vault_key: null,
    static_headers: {},
    allowed_tools: ['a'],
    disallowed_tools: null,
    require_approval: 'never',
    locked: false,
    status: 'unknown',
    last_checked_at: null,
    last_error: null,
    era: null,
    protocol_version: null,
    tools_hash: null,
    pending_tools_hash: null,
  })
  for (const name of [made.server_id, 'Git-Hub_1', 'gh'])
    assert.deepEqual((await call('master', `GET /v1/mcp/server/${name}`)).body, made)
})

test('S25: a new url without a credential drops the stored one, the headers and vault_key', async () => {
  const server = await registered({
    server_name: 'moving',
    url,
    auth_type: 'bearer_token',
    credentials: { auth_value: 'secret-of-the-first-host' },
    static_headers: { 'X-Team': 'a-team-with-a-long-name' },
  })
  const path = `/v1/mcp/server/${server.server_id}`
  const put = async (write: object) => (await call<McpServer>('master', `PUT ${path}`, write)).body
  const kept = await put({ description: 'x' })
  assert.deepEqual([kept.has_credentials, kept.static_headers], [true, { 'x-team': '…name' }])
  assert.equal((await put({ url })).has_credentials, true)
  const moved = await put({ url: 'https://other.example.com/mcp' })
  assert.deepEqual([moved.has_credentials, moved.static_headers, moved.vault_key], [false, {}, null])
  const again = { url, credentials: { auth_value: 'other-secret' }, static_headers: { 'x-team': 'b' } }
  assert.deepEqual(
    [(await put(again)).has_credentials, (await put({ static_headers: null })).static_headers],
    [true, {}],
  )
  assert.equal((await put({ vault_key: 'TOKEN' })).has_credentials, false)
  assert.equal((await put({ url: 'https://third.example.com/mcp' })).vault_key, null)
})

test('S31: a server whose credential is missing gets no request; a vault entry is read at each call', async () => {
  const upstream = await startScriptedUpstream((_request, response) => sendJson(response, { ok: true }))
  await registered({ server_name: 'vaulted', url: upstream.url, auth_type: 'bearer_token', vault_key: 'MCP_TOKEN' })
  const ping = () => call('ana', 'POST /mcp/vaulted', { jsonrpc: '2.0', id: 1, method: 'ping' })
  const missing = await ping()
  assert.deepEqual([missing.status, upstream.requests.length], [502, 0])
  assert.match(missing.text, /vault entry MCP_TOKEN, which does not exist/)
  const actor = { principal: 'master', role: 'admin', keyId: undefined, address: undefined, requestId: undefined }
  const caller = { principal: 'master', role: 'admin', ownerScope: undefined, key: undefined } as const
  await app.vault.set({ key: 'MCP_TOKEN', value: 'from-the-vault', scope: 'global' }, { caller, actor })
  assert.equal((await ping()).status, 200)
  assert.equal(upstream.requests[0]?.headers.authorization, 'Bearer from-the-vault')
})

test('S11, S55: no secret is in a response, a row or the audit log, and each change has an entry', async () => {
  const canary = 'canary-0123456789abcdef'
  const write = {
    server_name: 'canary',
    url: `https://example.com/${canary}`,
    auth_type: 'oauth2' as const,
    credentials: { client_id: `${canary}-id`, client_secret: `${canary}-secret`, token_url: 'https://example.com/t' },
    static_headers: { 'x-key': `${canary}-header` },
  }
  const made = await registered(write)
  const { rows } = await app.pool.query('select * from mcp_servers where server_id = $1', [made.server_id])
  assert.ok(!JSON.stringify(rows[0]).includes(`${canary}-`))
  assert.ok(!JSON.stringify(made).includes(`${canary}-`))
  assert.equal((await call<McpServer>('ana', `GET /v1/mcp/server/${made.server_id}`)).body.url, 'https://example.com')
  await call('master', `PUT /v1/mcp/server/canary`, { description: 'changed' })
  await call('master', `DELETE /v1/mcp/server/canary`)
  const text = 'select action, before, after from audit_log where object_id = $1 order by id'
  const log = (await app.pool.query(text, [made.server_id])).rows
  assert.deepEqual(
    log.map(({ action }) => action),
    ['mcp_server.create', 'mcp_server.update', 'mcp_server.delete'],
  )
  assert.ok(!JSON.stringify(log).includes(canary))
  assert.equal((await call('master', `GET /v1/mcp/server/canary`)).status, 404)
})

const rejected: readonly (readonly [write: object, message: RegExp])[] = [
  [{ server_name: 'a b' }, /server_name must/],
  [{ server_name: 'memories' }, /reserved/],
  [{ server_name: 'Switchyard' }, /reserved/],
  [{ transport: 'sse' }, /transport sse is not supported/],
  [{ transport: 'stdio' }, /transport stdio is supported in the configuration file only/],
  [{ command: '/bin/sh', args: ['-c', 'true'] }, /unknown field "command"/],
  [{ require_approval: 'sometimes' }, /require_approval/],
  [{ url: 'http://127.0.0.1:1/' }, /url is not allowed.*outbound.allow/],
  [{ url: 'http://example.com/' }, /https/],
  [{ url: 'https://user:pass@example.com/' }, /user name or password/],
  [{ auth_type: 'bearer_token' }, /credentials.auth_value or vault_key is required/],
  [{ auth_type: 'oauth2', credentials: { client_id: 'x' } }, /client_secret is required/],
  [{ auth_type: 'oauth2', vault_key: 'X' }, /vault_key is not supported/],
  [{ credentials: { auth_value: 'x' } }, /auth_type other than none/],
  [{ auth_type: 'api_key', credentials: { auth_value: 'x' }, vault_key: 'Y' }, /not both/],
  [{ auth_type: 'api_key', credentials: { auth_value: 'x\ny' } }, /not allowed in an HTTP header/],
  [{ static_headers: { host: 'x' } }, /static_headers.host is set by the service/],
  [{ static_headers: { 'mcp-session-id': 'x' } }, /is set by the service/],
  [{ alias: 'new' }, /alias must differ/],
]
for (const [write, message] of rejected) {
  test(`POST rejects ${JSON.stringify(write)} with 400 and names the field`, async () => {
    const answer = await call<Failure>('master', 'POST /v1/mcp/server', { server_name: 'new', url, ...write })
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.body.error.message, message)
  })
}

test('a name or alias that another server has is 409', async () => {
  await registered({ server_name: 'first', alias: 'one', url })
  for (const write of [{ server_name: 'one' }, { server_name: 'first' }, { server_name: 'x', alias: 'first' }])
    assert.equal((await call('master', 'POST /v1/mcp/server', { url, ...write })).status, 409)
})

test('S08: writes need an admin without limits', async () => {
  for (const caller of ['ana', 'limited'] as const) {
    assert.equal((await call(caller, 'POST /v1/mcp/server', { server_name: 'y', url })).status, 403)
    assert.equal((await call(caller, 'PUT /v1/mcp/server/first', {})).status, 403)
    assert.equal((await call(caller, 'DELETE /v1/mcp/server/first')).status, 403)
    assert.equal((await call(caller, 'POST /v1/mcp/server/first/test')).status, 403)
  }
})

test('a key with mcp_servers sees only those', async () => {
  const listed = await call<McpServer[]>('narrow', 'GET /v1/mcp/server')
  assert.deepEqual(listed.body, [])
  assert.equal((await call('narrow', 'GET /v1/mcp/server/first')).status, 404)
  await registered({ server_name: 'files', url })
  const names = (await call<McpServer[]>('narrow', 'GET /v1/mcp/server')).body.map(({ server_name }) => server_name)
  assert.deepEqual(names, ['files'])
})

test('a server of the configuration file comes first, is locked and gets its credential', async () => {
  const upstream = await startScriptedUpstream((_request, response) => sendJson(response, { ok: true }))
  app.allow(upstream.url)
  app.configured.push({
    serverName: 'from-file',
    alias: null,
    description: null,
    url: upstream.url,
    authType: 'api_key',
    authValue: 'of-the-file',
    vaultKey: null,
    staticHeaders: {},
    allowedTools: null,
    disallowedTools: null,
    requireApproval: null,
  })
  const [first] = (await call<McpServer[]>('master', 'GET /v1/mcp/server')).body
  assert.deepEqual([first?.server_name, first?.locked, first?.has_credentials], ['from-file', true, true])
  for (const line of ['PUT /v1/mcp/server/from-file', 'DELETE /v1/mcp/server/from-file'])
    assert.equal((await call('master', line, line.startsWith('PUT') ? {} : undefined)).status, 409)
  assert.equal((await call('master', 'POST /v1/mcp/server', { server_name: 'from-file', url })).status, 409)
  await call('ana', 'POST /mcp/from-file', { jsonrpc: '2.0', id: 1, method: 'ping' })
  assert.equal(upstream.requests[0]?.headers['x-api-key'], 'of-the-file')
})
