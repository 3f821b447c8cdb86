import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configReader } from '../../../test/support/service/config-file.ts'

const { load, problemsOf } = configReader()
const env = { GATEWAY_MASTER_KEY: 'sk-a-long-enough-master-key', TOKEN: 'token-of-the-server' }
const listing = (...entries: readonly string[]) => `mcp_servers:\n${entries.map(entry => `  - ${entry}\n`).join('')}`

test('servers are read with credentials of the environment', () => {
  const yaml = listing(
    '{server_name: tickets, url: "https://t.example.com/mcp", auth_type: bearer_token, auth_value: os.environ/TOKEN, require_approval: always}',
    '{server_name: open, alias: o, url: "https://o.example.com", static_headers: {X-Team: a}, allowed_tools: [x], require_approval: [x]}',
  )
  const none = { alias: null, description: null, authValue: undefined, vaultKey: null, disallowedTools: null }
  assert.deepEqual(load({ yaml, env }).mcpServers, [
    {
      ...none,
      serverName: 'tickets',
      url: 'https://t.example.com/mcp',
      authType: 'bearer_token',
      authValue: 'token-of-the-server',
      staticHeaders: {},
      allowedTools: null,
      requireApproval: 'always',
    },
    {
      ...none,
      serverName: 'open',
      alias: 'o',
      url: 'https://o.example.com/',
      authType: 'none',
      staticHeaders: { 'x-team': 'a' },
      allowedTools: ['x'],
      requireApproval: ['x'],
    },
  ])
})

test('a program is read with its arguments and variables', () => {
  const yaml = listing(
    '{server_name: files, transport: stdio, command: node, args: [/srv/a.js, /workspace], env: {A: os.environ/TOKEN}, vault_env: {B: entry}, sandbox: none}',
  )
  const { mcpServers, warnings } = load({ yaml, env })
  assert.deepEqual(mcpServers[0]?.stdio, {
    command: ['node', '/srv/a.js', '/workspace'],
    env: { A: 'token-of-the-server' },
    vaultEnv: { B: 'entry' },
    isolation: 'none',
  })
  assert.ok(!warnings.some(text => text.includes('files')))
})

test('a server with a blocked address is a warning', () => {
  const { warnings } = load({ yaml: listing('{server_name: near, url: "http://10.0.0.5:8080/mcp"}'), env })
  assert.ok(warnings.some(text => /MCP server near: .*outbound.allow/.test(text)))
})

const url = 'url: "https://a.example.com"'
for (const [entry, problem] of [
  ['{url: "https://a.example.com"}', /mcp_servers\[0\]\.server_name is required/],
  [`{server_name: a b, ${url}}`, /\.server_name must have/],
  [`{server_name: memories, ${url}}`, /\.server_name memories is reserved/],
  ['{server_name: a}', /\.url is required/],
  ['{server_name: a, url: "ftp://x"}', /\.url must be/],
  [`{server_name: a, ${url}, transport: sse}`, /\.transport sse is not supported/],
  [`{server_name: a, ${url}, command: /bin/x}`, /\.command requires transport stdio/],
  [`{server_name: a, ${url}, transport: stdio, command: /bin/x}`, /\.url is not supported with transport stdio/],
  ['{server_name: a, transport: stdio}', /\.command is required/],
  ['{server_name: a, transport: stdio, command: npx}', /\.command must be node or the absolute path/],
  ['{server_name: a, transport: stdio, command: /bin/x, env: {a-b: x}}', /\.env\.a-b is not a valid/],
  [
    '{server_name: a, transport: stdio, command: /bin/x, env: {A: x}, vault_env: {A: y}}',
    /\.vault_env\.A is set in env/,
  ],
  [`{server_name: a, ${url}, require_approval: sometimes}`, /require_approval must be always, never or a list/],
  ['{server_name: a, transport: stdio, command: /bin/x, sandbox: docker}', /\.sandbox must be "none"/],
  [`{server_name: a, ${url}, auth_type: oauth2}`, /\.auth_type must be one of/],
  [`{server_name: a, ${url}, auth_type: basic}`, /needs either auth_value or vault_key/],
  [`{server_name: a, ${url}, auth_value: x}`, /\.auth_type is required/],
  [`{server_name: a, ${url}, static_headers: {Host: x}}`, /\.static_headers\.host is set by the service/],
] as const)
  test(`mcp_servers rejects ${entry}`, () => {
    assert.match(problemsOf({ yaml: listing(entry), env }).join('\n'), problem)
  })
