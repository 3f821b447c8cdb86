import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enabledServers, mcpToolName, serverEntryProblem } from './mcp-toolset.ts'

const url = { type: 'url', name: 'own', url: 'https://own.example/mcp' }
const toolset = (mcp_server_name: string, more: object = {}) => ({ type: 'mcp_toolset', mcp_server_name, ...more })
/** `server` or `server@url`, then the policies of the tools a and b. */
const shown = (tools: unknown, mcp_servers: unknown = ['wiki', url]) =>
  enabledServers(tools, { mcp_servers }).map(({ name, url: at, policyOf }) =>
    [at === undefined ? name : `${name}@${at}`, policyOf('a') ?? 'off', policyOf('b') ?? 'off'].join(' '),
  )
const everything = ['wiki allow allow', 'own@https://own.example/mcp allow allow']

for (const [guarantee, tools, expected] of [
  ['tools that were never set include all servers', {}, everything],
  ['an empty list includes all servers', [], everything],
  ['names of built-in tools include all servers', { bash: false }, everything],
  ['entries include only the servers that they name', [{ type: 'bash' }], []],
  ['an entry includes its server', [toolset('own')], [everything[1]]],
  ['one entry needs no list', toolset('wiki'), [everything[0]]],
  ['an entry may name a registered server that is not listed', [toolset('other')], ['other allow allow']],
  ['the default applies to all tools', [toolset('x', { default_config: { permission_policy: 'ask' } })], ['x ask ask']],
  [
    'a config applies to its tool, and takes the rest from the default',
    [
      toolset('x', {
        default_config: { enabled: false, permission_policy: { type: 'always_ask' } },
        configs: [{ name: 'b', enabled: true }],
      }),
    ],
    ['x off ask'],
  ],
  [
    'an unknown policy means ask',
    [toolset('x', { configs: [{ name: 'a', permission_policy: { type: 'sometimes' } }] })],
    ['x ask allow'],
  ],
  [
    'the last entry of a server applies',
    [toolset('x', { default_config: { enabled: false } }), toolset('x')],
    ['x allow allow'],
  ],
] as const)
  test(guarantee, () => assert.deepEqual(shown(tools), expected))

test('names are those of the aggregate server, and always valid for models', () => {
  assert.equal(mcpToolName('wiki', 'look'), 'wiki__look')
  for (const [server, tool] of [
    ['wiki', 'a.b/c'],
    ['wiki', 'x'.repeat(80)],
  ] as const) {
    const name = mcpToolName(server, tool)
    assert.match(name, /^wiki__[A-Za-z0-9_-]{1,58}$/)
    assert.notEqual(name, mcpToolName(server, `${tool}y`))
  }
})

test('an invalid entry of mcp_servers names its field', () => {
  const faultOf = (entry: unknown, others: readonly string[] = []) => {
    const found = serverEntryProblem(entry, others)
    return found && `${found.field} ${found.problem}`
  }
  for (const entry of ['wiki', url, { name: 'own', url: 'https://own.example/mcp' }])
    assert.equal(faultOf(entry), undefined)
  assert.match(faultOf(7) ?? '', /^ must be the name of a registered MCP server/)
  assert.match(faultOf({ ...url, type: 'stdio' }) ?? '', /^\.type must be url/)
  assert.match(faultOf({ name: 'own' }) ?? '', /^\.url is required/)
  assert.match(faultOf({ ...url, name: 'Switchyard' }) ?? '', /^\.name Switchyard is reserved/)
  assert.match(faultOf('wiki', ['wiki']) ?? '', /^ wiki is already used/)
  assert.match(
    faultOf(
      'wiki',
      Array.from({ length: 20 }, (_, at) => `s${at}`),
    ) ?? '',
    /at most 20 MCP servers/,
  )
})
