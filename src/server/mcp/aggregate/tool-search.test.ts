import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpTool } from '../../../contract/mcp.ts'
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
const named = (query: string, limit = 10) => foundTools(tools, { query, limit }).map(({ name }) => name)

test('words of the name count more than words of the description; parameters and camel case match', () => {
  assert.deepEqual(named('create issue').slice(0, 2), ['github__create_issue', 'github__list_issues'])
  assert.equal(named('message')[0], 'mail__sendMessage')
  assert.deepEqual(named('recipient'), ['mail__sendMessage'])
  assert.deepEqual(named('köpfe'), ['wiki__search'])
  assert.deepEqual(named('nothing-like-this-xyz'), ['files__read'])
  assert.deepEqual(named('xyz'), [])
})

test('the order does not depend on the order of the tools, and the limit holds', () => {
  const reversed = foundTools(tools.toReversed(), { query: 'repository issue', limit: 10 })
  assert.deepEqual(
    reversed.map(({ name }) => name),
    named('repository issue'),
  )
  assert.equal(named('repository issue', 1).length, 1)
  const same = ['b', 'a', 'c'].map(name => tool(`s__${name}`, 'the same text'))
  assert.deepEqual(
    foundTools(same, { query: 'same', limit: 10 }).map(({ name }) => name),
    ['s__a', 's__b', 's__c'],
  )
})

test('arguments of a search are checked', () => {
  assert.deepEqual(searchRequestOf({ query: 'x' }), { query: 'x', limit: 10 })
  assert.match(String(searchRequestOf({})), /arguments\.query/)
  assert.match(String(searchRequestOf({ query: 'x'.repeat(501) })), /1 to 500/)
  assert.match(String(searchRequestOf({ query: 'x', limit: 51 })), /arguments\.limit/)
})
