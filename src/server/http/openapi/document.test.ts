import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApiDocument } from './document.ts'

interface Document {
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly tags: readonly string[] }>>>>
}

test('D2: the groups of the document are those of the interface, in its order, and others behind them', () => {
  const { tags, paths } = openApiDocument() as unknown as Document
  const names = tags.map(({ name }) => name)
  const ofInterface = ['System', 'Models', 'Messages', 'Agents', 'Sessions', 'Runtimes', 'API Keys', 'MCP']
  assert.deepEqual(names.slice(0, ofInterface.length), ofInterface)
  assert.equal(new Set(names).size, names.length)
  const used = new Set(Object.values(paths).flatMap(path => Object.values(path).flatMap(operation => operation.tags)))
  assert.deepEqual([...used].sort(), [...names].sort(), 'each group has an operation, and each operation a group')
  for (const [line, group] of [
    ['post /api/keys', 'API Keys'],
    ['get /api/runtime-harnesses', 'Runtimes'],
    ['put /api/agent-runtimes/{runtime_id}/credentials', 'Runtimes'],
    ['get /v1/sessions/{session_id}/events/stream', 'Sessions'],
    ['post /v1/messages', 'Messages'],
  ] as const) {
    const [method, path] = line.split(' ') as [string, string]
    assert.deepEqual(paths[path]?.[method]?.tags, [group], line)
  }
})

test('an error that is a page is documented as one, beside the shape of other errors', () => {
  const { paths } = openApiDocument() as unknown as {
    readonly paths: Record<string, Record<string, { readonly responses: Record<string, { readonly content: object }> }>>
  }
  const typesOf = (path: string, status: string) => Object.keys(paths[path]?.['get']?.responses[status]?.content ?? {})
  assert.deepEqual(typesOf('/approvals/{approval_id}', '404'), ['text/html', 'application/json'])
  assert.deepEqual(typesOf('/oauth/mcp/callback', '400'), ['text/html', 'application/json'])
})
