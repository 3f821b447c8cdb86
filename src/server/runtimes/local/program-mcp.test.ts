import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProgramMcp, opencodeRules, opencodeTools, serverAt, withoutQuestions } from './program-mcp.ts'

const servers = [
  { name: 'wiki', url: undefined, tools: { look: 'allow', edit: 'ask' } },
  { name: 'own', url: 'https://own.example/mcp', tools: { 'a.b': 'allow' } },
] as const

test('an allowed tool may be called, one that needs approval once per approval, and no other', () => {
  const mcp = createProgramMcp(servers)
  const may = (server: string, tool: string) => mcp.mayCall({ server, tool })
  assert.deepEqual(
    [may('wiki', 'look'), may('wiki', 'edit'), may('wiki', 'constructor'), may('none', 'look')],
    [true, false, false, false],
  )
  mcp.approve({ server: 'wiki', tool: 'edit' })
  assert.deepEqual([may('own', 'edit'), may('wiki', 'edit'), may('wiki', 'edit')], [false, true, false])
  assert.deepEqual([mcp.needsApproval, createProgramMcp(withoutQuestions(servers)).needsApproval], [true, false])
})

test('a call is recognised by the name that a program has for the tool; the stricter of two with one name decides', () => {
  const mcp = createProgramMcp([
    ...servers,
    { name: 'x', url: undefined, tools: { y__z: 'ask' } },
    { name: 'x__y', url: undefined, tools: { z: 'allow' } },
  ])
  assert.deepEqual(mcp.placeOf('wiki__look'), { server: 'wiki', tool: 'look' })
  assert.deepEqual(mcp.placeOf('own__a_b'), { server: 'own', tool: 'a.b' })
  assert.deepEqual(mcp.placeOf('x__y__z'), { server: 'x', tool: 'y__z' })
  assert.deepEqual([mcp.placeOf('wiki__none'), mcp.placeOf(undefined)], [undefined, undefined])
})

test('opencode gets rules by its own names of the tools', () => {
  assert.deepEqual(opencodeRules(servers), { wiki_look: 'allow', wiki_edit: 'ask', own_a_b: 'allow' })
  assert.deepEqual(opencodeTools(servers).get('own_a_b'), { server: 'own', tool: 'a.b' })
})

test('a program gets the address of this service and the key of its run, not the address of the server', () => {
  assert.deepEqual(serverAt({ gatewayUrl: 'http://127.0.0.1:4000', gatewayKey: 'sk-run-1' }, servers[1]), {
    url: 'http://127.0.0.1:4000/mcp/own',
    headers: { Authorization: 'Bearer sk-run-1' },
  })
})
