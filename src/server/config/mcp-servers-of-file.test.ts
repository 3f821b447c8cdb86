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

test('a program may have a network, as agents may', () => {
  const networkOf = (network: string) => {
    const yaml = listing(`{server_name: files, transport: stdio, command: node, network: ${network}}`)
    return load({ yaml, env }).mcpServers[0]?.stdio?.network
  }
  assert.deepEqual(
    networkOf(
      '{type: limited, allowed_hosts: [api.example.com, {host: "*.b.example", ports: [8443], methods: [GET]}], presets: [npm]}',
    ),
    {
      type: 'limited',
      allowed_hosts: ['api.example.com', { host: '*.b.example', ports: [8443], methods: ['GET'] }],
      presets: ['npm'],
    },
  )
  assert.equal(networkOf('{type: none}'), undefined)
})

test('a server with a blocked address is a warning', () => {
  const { warnings } = load({ yaml: listing('{server_name: near, url: "http://10.0.0.5:8080/mcp"}'), env })
  assert.ok(warnings.some(text => /MCP server near: .*outbound.allow/.test(text)))
})

const url = 'url: "https://a.example.com"'
const program = (more: string) => `{server_name: a, transport: stdio, command: /bin/x, ${more}}`
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
  [`{server_name: a, ${url}, network: {type: none}}`, /\.network requires transport stdio/],
  [program('sandbox: none, network: {type: limited, presets: [npm]}'), /\.network is not supported with sandbox: none/],
  [program('network: {allowed_hosts: [a.example]}'), /\.network\.type must be none, limited or unrestricted/],
  [program('network: {type: none, presets: [npm]}'), /\.network\.presets needs network\.type limited/],
  [program('network: {type: unrestricted}'), /unrestricted needs limits\.allow_unrestricted_egress: true/],
  [program('network: {type: limited, presets: [nope]}'), /\.network\.presets\[0\] must be one of packages, npm/],
  [program('network: {type: limited, allowed_hosts: [10.0.0.1]}'), /allowed_hosts\[0\] is not a public address/],
  [program('network: {type: limited, allowed_hosts: [{host: a}]}'), /allowed_hosts\[0\]\.host must be a host name/],
  [program('network: {type: limited, allowed_hosts: [{ports: [1]}]}'), /allowed_hosts\[0\]\.host is required/],
  [program('network: {type: limited, allowed_hosts: [{host: a.example, ports: [70000]}]}'), /\.ports must be from 1/],
  [program('network: {type: limited, allow_mcp_servers: true}'), /network\.allow_mcp_servers/],
  [`{server_name: a, ${url}, auth_type: oauth2}`, /\.auth_type must be one of/],
  [`{server_name: a, ${url}, auth_type: basic}`, /needs either auth_value or vault_key/],
  [`{server_name: a, ${url}, auth_value: x}`, /\.auth_type is required/],
  [`{server_name: a, ${url}, static_headers: {Host: x}}`, /\.static_headers\.host is set by the service/],
] as const)
  test(`mcp_servers rejects ${entry}`, () => {
    assert.match(problemsOf({ yaml: listing(entry), env }).join('\n'), problem)
  })
