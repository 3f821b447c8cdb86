import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promptOf, sessionWith } from '../../../../test/support/sessions/run-rig.ts'
import { agentBody, environmentBody, sessionBody } from './bodies.ts'

const toolset = { type: 'agent_toolset_20260401' }
const custom = { type: 'custom', name: 'ring', description: 'Rings', input_schema: { type: 'object' } }
const wiki = { type: 'mcp_toolset', mcp_server_name: 'wiki' }

const toolTable = [
  ['an agent without tools gets the whole toolset', {}, [toolset]],
  ['an empty list gives the whole toolset', [], [toolset]],
  ['null gives the whole toolset', null, [toolset]],
  ['tools of the protocol are unchanged', [toolset, custom], [toolset, custom]],
  ['a single tool does not need a list', toolset, [toolset]],
  ['a list of unknown entries gives no tools', [{ type: 'bash' }, 'bash'], undefined],
  ['plain strings give no tools', ['bash'], undefined],
  ['tool names of the built-in runtime give no tools', { bash: 'ask' }, undefined],
  ['a toolset of an unconfigured server is left out', [wiki], undefined],
] as const

for (const [guarantee, tools, expected] of toolTable) {
  test(guarantee, () => assert.deepEqual(agentBody(sessionWith({ tools }), promptOf('Hi'), '')['tools'], expected))
}

test('MCP servers are sent when a toolset uses them, with address and name only', () => {
  const config = {
    mcp_servers: [
      { name: 'wiki', type: 'url', url: 'https://wiki.example/mcp', secret: 'x' },
      { name: 'unused', type: 'url', url: 'https://u' },
    ],
  }
  const body = agentBody(sessionWith({ tools: [wiki], config }), promptOf('Hi'), '')
  assert.deepEqual(body['tools'], [wiki])
  assert.deepEqual(body['mcp_servers'], [{ type: 'url', name: 'wiki', url: 'https://wiki.example/mcp' }])
})

test('an agent without tools gets those of its MCP servers, too', () => {
  const config = { mcp_servers: [{ name: 'wiki', type: 'url', url: 'https://wiki.example/mcp' }] }
  const body = agentBody(sessionWith({ config }), promptOf('Hi'), '')
  assert.deepEqual(body['tools'], [{ type: 'agent_toolset_20260401' }, wiki])
  assert.deepEqual(body['mcp_servers'], config.mcp_servers)
})

test('the environment of the session sets network and packages', () => {
  const configOf = (environment: Readonly<Record<string, unknown>>) =>
    environmentBody(sessionWith({ environment }))['config']
  const limited = { type: 'limited', allowed_hosts: ['a.example'] }
  assert.deepEqual(configOf({}), { type: 'cloud', networking: { type: 'unrestricted' } })
  assert.deepEqual(configOf({ networking: limited, packages: { pip: ['x'] } }), {
    type: 'cloud',
    networking: limited,
    packages: { pip: ['x'] },
  })
  assert.deepEqual(configOf({ config: { type: 'self_hosted' } }), { type: 'self_hosted' })
})

test('a repository is checked out at its branch, with all spellings of the fields', () => {
  const resourcesOf = (environment: Readonly<Record<string, unknown>>) =>
    sessionBody(sessionWith({ environment }), 'agent_1', 'env_1')['resources']
  const url = 'https://github.com/o/r'
  const branch = { type: 'github_repository', url, checkout: { type: 'branch', name: 'dev' } }
  assert.deepEqual(resourcesOf({ repository: url, ref: 'dev' }), [branch])
  assert.deepEqual(resourcesOf({ source: { repository: url, ref: 'dev' } }), [branch])
  assert.deepEqual(resourcesOf({ repository: url }), [{ type: 'github_repository', url }])
  assert.equal(resourcesOf({ ref: 'dev' }), undefined)
})

test('a session without a title has a name at the provider', () => {
  const session = sessionWith({ title: ' ' })
  assert.equal(agentBody(session, promptOf('Hi'), '')['name'], `Session ${session.id}`)
})
