import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpTool } from '../../contract/mcp.ts'
import { foundTools, searchRequestOf } from './tool-search.ts'

const tool = (name: string, description: string, ...parameters: string[]): McpTool => ({
  name,
  description,
  inputSchema: { type: 'object', properties: Object.fromEntries(parameters.map(each => [each, { type: 'string' }])) },
})
const tools = [
  tool('github__create_issue', 'Creates an issue in a repository', 'repo', 'title'),
  tool('github__list_issues', 'Lists the issues of a repository', 'repo'),
  tool('mail__sendMessage', 'Sends a message to an address', 'recipient', 'subject'),
  tool('files__read', 'Reads a file; creates nothing', 'path'),
  tool('wiki__search', 'Suche in Seiten: für Köpfe', 'frage'),
]
const never = new AbortController().signal
const search = async (among: readonly McpTool[], query: string, limit = 10) =>
  (await foundTools(among, { query, limit }, never)).map(({ name }) => name)
const named = (query: string, limit?: number) => search(tools, query, limit)

test('words of the name count more than words of the description; parameters and camel case match', async () => {
  assert.deepEqual((await named('create issue')).slice(0, 2), ['github__create_issue', 'github__list_issues'])
  assert.equal((await named('message'))[0], 'mail__sendMessage')
  assert.deepEqual(await named('recipient'), ['mail__sendMessage'])
  assert.deepEqual(await named('köpfe'), ['wiki__search'])
  assert.deepEqual(await named('nothing-like-this-xyz'), ['files__read'])
  assert.deepEqual(await named('xyz'), [])
})

test('the order does not depend on the order of the tools, and the limit holds', async () => {
  assert.deepEqual(await search(tools.toReversed(), 'repository issue'), await named('repository issue'))
  assert.equal((await named('repository issue', 1)).length, 1)
  const same = ['b', 'a', 'c'].map(name => tool(`s__${name}`, 'the same text'))
  assert.deepEqual(await search(same, 'same'), ['s__a', 's__b', 's__c'])
})

test('a search among many long tools lets other work run, and ends with its caller', async () => {
  const many = Array.from({ length: 5_000 }, (_, at) => tool(`s__${at}`, `number ${at} ${'word '.repeat(400)}`))
  let turns = 0
  const timer = setInterval(() => turns++)
  assert.deepEqual((await search(many, 'number')).length, 10)
  clearInterval(timer)
  assert.ok(turns > 5, `${turns} other turns`)
  await assert.rejects(foundTools(many, { query: 'number', limit: 1 }, AbortSignal.abort(new Error('left'))), /left/)
})

test('arguments of a search are checked', () => {
  assert.deepEqual(searchRequestOf({ query: 'x' }), { query: 'x', limit: 10 })
  assert.match(String(searchRequestOf({})), /arguments\.query/)
  assert.match(String(searchRequestOf({ query: 'x'.repeat(501) })), /1 to 500/)
  assert.match(String(searchRequestOf({ query: 'x', limit: 51 })), /arguments\.limit/)
})
