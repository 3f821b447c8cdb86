import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { type McpCaller, startMcpApp } from '../../../../test/support/mcp/mcp-app.ts'
import {
  legacyScript,
  type Script,
  sendJson,
  startScriptedUpstream,
  tool,
} from '../../../../test/support/mcp/scripted-upstream.ts'
import type { McpServer } from '../../../contract/mcp.ts'

const app = await startMcpApp()

/** An authorization server with registration, PKCE, rotating refresh tokens and revocation. */
async function startAuthorizationServer() {
  const state = { tokens: new Set<string>(), count: 0, lifeS: 3_600, refreshes: 0, challenge: '', refuses: false }
  const issue = () => {
    const at = ++state.count
    state.tokens.add(`access-token-${at}`)
    return { access_token: `access-token-${at}`, refresh_token: `refresh-token-${at}`, expires_in: state.lifeS }
  }
  const token: Script = ({ text }, response) => {
    const form = new URLSearchParams(text)
    if (form.get('grant_type') === 'refresh_token') {
      state.refreshes++
      if (state.refuses || form.get('refresh_token') !== `refresh-token-${state.count}`)
        return sendJson(response, { error: 'invalid_grant' }, 400)
      return sendJson(response, issue())
    }
    const hash = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (form.get('code') !== 'good-code' || hash !== state.challenge)
      return sendJson(response, { error: 'invalid_grant' }, 400)
    return sendJson(response, issue())
  }
  const server = await startScriptedUpstream((request, response) => {
    const { url } = server
    if (request.path === '/.well-known/oauth-authorization-server/tenant')
      return sendJson(response, {
        issuer: `${url}/tenant`,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        registration_endpoint: `${url}/register`,
        revocation_endpoint: `${url}/revoke`,
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
      })
    if (request.path === '/register') return sendJson(response, { client_id: 'client-of-the-test' }, 201)
    if (request.path === '/token') return token(request, response)
    if (request.path === '/revoke') return sendJson(response, {})
    return sendJson(response, {}, 404)
  })
  return { ...server, state }
}

const oauth = await startAuthorizationServer()
const issuer = `${oauth.url}/tenant`
const upstream = await startScriptedUpstream((request, response) => {
  if (request.path === '/.well-known/oauth-protected-resource/mcp')
    return sendJson(response, {
      resource: `${upstream.url}/mcp`,
      authorization_servers: [issuer],
      scopes_supported: ['read', 'write'],
    })
  const token = (request.headers.authorization ?? '').replace('Bearer ', '')
  if (request.path !== '/mcp') return sendJson(response, {}, 404)
  if (!oauth.state.tokens.has(token)) return sendJson(response, {}, 401)
  return legacyScript(
    () => [tool('whoami')],
    ({ body }, answer) =>
      sendJson(answer, {
        jsonrpc: '2.0',
        id: body['id'],
        result: { content: [{ type: 'text', text: `used ${token}` }] },
      }),
  )(request, response)
})
app.allow(oauth.url)
const server = await app.registered({
  server_name: 'calendar',
  url: `${upstream.url}/mcp`,
  auth_type: 'oauth2',
  oauth2_flow: 'authorization_code',
})

const authorize = async (caller: McpCaller) =>
  (await app.call<{ authorization_url: string }>(caller, 'POST /v1/mcp/server/calendar/authorize')).body
    .authorization_url

/** What the browser does: the person allows the access, the server redirects to the callback, and the person confirms. */
async function allow(address: string, more: Record<string, string> = {}) {
  const { searchParams } = new URL(address)
  oauth.state.challenge = searchParams.get('code_challenge') ?? ''
  const back = new URL(searchParams.get('redirect_uri') ?? '')
  const query = { state: searchParams.get('state') ?? '', code: 'good-code', iss: issuer, ...more }
  back.search = new URLSearchParams(query).toString()
  const asked = await fetch(back)
  const question = await asked.text()
  if (asked.status !== 200) return { status: asked.status, text: question }
  assert.match(question, /Give \w+ access to your account\?/)
  return answerPage(back, 'allow')
}

async function answerPage(address: URL, result: string) {
  const answer = await fetch(address, { method: 'POST', body: new URLSearchParams({ result }) })
  return { status: answer.status, text: await answer.text() }
}

const call = (caller: McpCaller) =>
  app.call<Record<string, unknown>>(caller, 'POST /mcp-rest/tools/call', {
    server_id: 'calendar',
    name: 'whoami',
    arguments: {},
  })
const proxied = (caller: McpCaller) =>
  app.call<{ error?: { message: string; data?: { authorization_url: string } } }>(caller, 'POST /mcp/calendar', {
    jsonrpc: '2.0',
    id: 7,
    method: 'tools/list',
  })

test('without a login a call fails with its address, which then completes the login of that principal only', async () => {
  assert.equal(server.oauth2_flow, 'authorization_code')
  const hasLogin = async (caller: McpCaller) =>
    (await app.call<McpServer[]>(caller, 'GET /v1/mcp/server')).body.map(({ has_login }) => has_login)
  assert.deepEqual(await hasLogin('ana'), [false])
  const rejected = await call('ana')
  assert.equal(rejected.status, 502)
  const address = /open (\S+?)["\s]/.exec(rejected.text)?.[1] ?? ''
  const url = new URL(address)
  assert.equal(`${url.origin}${url.pathname}`, `${oauth.url}/authorize`)
  const { state: _state, code_challenge: _challenge, ...params } = Object.fromEntries(url.searchParams)
  assert.deepEqual(params, {
    response_type: 'code',
    client_id: 'client-of-the-test',
    redirect_uri: `${app.url}/oauth/mcp/callback`,
    code_challenge_method: 'S256',
    resource: `${upstream.url}/mcp`,
    scope: 'read write',
  })
  assert.equal((await proxied('ana')).body.error?.data?.authorization_url, address, 'calls repeat one address')

  const done = await allow(address)
  assert.equal(done.status, 200, done.text)
  assert.match(done.text, /ana can use the MCP server calendar/)
  assert.match((await call('ana')).text, /used \[secret\]/, 'the token is removed from answers')
  assert.equal((await proxied('ana')).status, 200)
  assert.match((await call('bo')).text, /needs a login of bo/)
  assert.deepEqual([await hasLogin('ana'), await hasLogin('bo')], [[true], [false]])
  const again = await allow(address)
  assert.equal(again.status, 400)
  assert.match(again.text, /was used or has expired/)
  const { rows } = await app.pool.query('select sealed from mcp_logins')
  assert.doesNotMatch(rows.map(({ sealed }) => String(sealed)).join(), /access-token/)
  const audited = await app.pool.query(`select principal, action from audit_log where action like 'mcp_login%'`)
  assert.deepEqual(audited.rows, [{ principal: 'ana', action: 'mcp_login.create' }])
})

test('a callback with another issuer, an error, a wrong code or an unknown state stores nothing', async () => {
  const cases: readonly [Record<string, string>, RegExp][] = [
    [{ iss: 'https://evil.example.com' }, /another issuer/],
    [{ error: 'access_denied', error_description: '<b>no</b>' }, /access_denied &lt;b&gt;no/],
    [{ code: 'bad-code' }, /rejected the code/],
    [{ state: 'unknown' }, /unknown, was used or has expired/],
  ]
  for (const [more, expected] of cases) {
    const { status, text } = await allow(await authorize('bo'), more)
    assert.equal(status, 400)
    assert.match(text, expected)
  }
  assert.match((await call('bo')).text, /needs a login of bo/)
})

test('the page of a callback names the principal and stores nothing; a cancelled login is over', async () => {
  const { searchParams } = new URL(await authorize('bo'))
  const query = { state: searchParams.get('state') ?? '', code: 'good-code', iss: issuer }
  const back = new URL(`/oauth/mcp/callback?${new URLSearchParams(query)}`, app.url)
  for (let look = 0; look < 2; look++) {
    const shown = await fetch(back)
    assert.match(await shown.text(), /Give bo access to your account\?.*MCP server calendar/s)
    assert.match(shown.headers.get('content-security-policy') ?? '', /form-action 'self'.*frame-ancestors 'none'/)
  }
  assert.match((await call('bo')).text, /needs a login of bo/)
  assert.match((await answerPage(back, 'deny')).text, /Nothing was stored/)
  assert.equal((await answerPage(back, 'allow')).status, 400)
  assert.equal((await fetch(back)).status, 400)
})

test('an expired and a rejected token are refreshed once, however many calls need it', async () => {
  oauth.state.lifeS = 0
  await allow(await authorize('ana'))
  oauth.state.lifeS = 3_600
  const before = oauth.state.refreshes
  const answers = await Promise.all(Array.from({ length: 5 }, () => call('ana')))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  )
  assert.equal(oauth.state.refreshes, before + 1)
  oauth.state.tokens.clear()
  assert.equal((await call('ana')).status, 200)
  assert.equal(oauth.state.refreshes, before + 2)
})

test('another replica that refreshes is waited for', async () => {
  oauth.state.tokens.clear()
  await app.pool.query(`update mcp_logins set refreshing_until = clock_timestamp() + interval '1 second'`)
  const before = oauth.state.refreshes
  assert.equal((await call('ana')).status, 200, 'its lease has ended without a result')
  assert.equal(oauth.state.refreshes, before + 1)
})

test('a rejected refresh token asks for a new login; a login is deleted and revoked', async () => {
  oauth.state.tokens.clear()
  oauth.state.refuses = true
  assert.match((await call('ana')).text, /needs a login of ana/)
  oauth.state.refuses = false
  await allow(await authorize('ana'))
  assert.equal((await call('ana')).status, 200)
  const line = 'DELETE /v1/mcp/server/calendar/authorize'
  assert.equal((await app.call('bo', line)).status, 404)
  assert.equal((await app.call('ana', line)).status, 200)
  assert.match(oauth.requests.findLast(({ path }) => path === '/revoke')?.text ?? '', /token=refresh-token/)
  assert.match((await call('ana')).text, /needs a login of ana/)
  assert.equal((await app.call('ana', line)).status, 404)
})

test('a new address of the server drops logins; servers of other types have none', async () => {
  await allow(await authorize('ana'))
  const moved = await app.call<McpServer>('master', 'PUT /v1/mcp/server/calendar', { url: `${upstream.url}/other` })
  assert.equal(moved.status, 200, moved.text)
  assert.equal((await app.pool.query('select from mcp_logins')).rowCount, 0)
  await app.registered({ server_name: 'plain', url: upstream.url })
  const answer = await app.call('ana', 'POST /v1/mcp/server/plain/authorize')
  assert.equal(answer.status, 409)
  assert.match(answer.text, /oauth2_flow authorization_code/)
  const wrong = await app.call('master', 'PUT /v1/mcp/server/plain', { oauth2_flow: 'authorization_code' })
  assert.match(wrong.text, /oauth2_flow needs auth_type oauth2/)
})

test('S25: the client secret goes only to the origin of the server or of token_url, wherever the server names a token endpoint', async () => {
  const credentials = { client_id: 'client-of-the-admin', client_secret: 'secret-of-the-admin' }
  const logins = { url: `${upstream.url}/mcp`, auth_type: 'oauth2', oauth2_flow: 'authorization_code' } as const
  await app.registered({ server_name: 'elsewhere', ...logins, credentials })
  const before = oauth.requests.length
  const rejected = await app.call('ana', 'POST /v1/mcp/server/elsewhere/authorize')
  assert.equal(rejected.status, 502, rejected.text)
  assert.match(rejected.text, /set credentials\.token_url/)
  assert.ok(oauth.requests.slice(before).every(({ path }) => path.startsWith('/.well-known/')))

  await app.call('master', 'PUT /v1/mcp/server/elsewhere', {
    credentials: { ...credentials, token_url: `${oauth.url}/token` },
  })
  const begun = await app.call<{ authorization_url: string }>('ana', 'POST /v1/mcp/server/elsewhere/authorize')
  assert.equal((await allow(begun.body.authorization_url)).status, 200)
  const { headers } = oauth.requests.findLast(({ path }) => path === '/token') ?? {}
  assert.equal(headers?.authorization, `Basic ${btoa('client-of-the-admin:secret-of-the-admin')}`)
})
