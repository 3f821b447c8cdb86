import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../platform/log.ts'
import { type RunTool, type ToolSource, toolsOfSources } from './tool-source.ts'

const listing = { signal: new AbortController().signal, log: createLog('silent') }

const toolNamed = (name: string, description = name): RunTool => ({
  name,
  description,
  inputSchema: { type: 'object' },
  policy: 'allow',
  reads: true,
  idempotent: true,
  call: async () => ({ content: [], is_error: false }),
})
const sourceOf = (name: string, ...tools: readonly string[]): ToolSource => ({
  name,
  list: async () => tools.map(tool => toolNamed(tool, `${tool} of ${name}`)),
})

test('a run has the tools of all sources, in the order of the sources', async () => {
  const { byName, failures } = await toolsOfSources([sourceOf('one', 'b', 'a'), sourceOf('two', 'c')], listing)
  assert.deepEqual([[...byName.keys()], failures], [['b', 'a', 'c'], []])
})

test('of two tools with one name, the tool of the first source is used', async () => {
  const { byName } = await toolsOfSources([sourceOf('one', 'a'), sourceOf('two', 'a', 'b')], listing)
  assert.deepEqual(
    [...byName.values()].map(({ description }) => description),
    ['a of one', 'b of two'],
  )
})

test('a source that cannot list its tools costs the run only those, and the reason is kept for the model', async () => {
  const broken: ToolSource = {
    name: 'server wiki',
    list: async () => {
      throw new Error('connection refused')
    },
  }
  const { byName, failures } = await toolsOfSources([broken, sourceOf('two', 'b')], listing)
  assert.deepEqual([...byName.keys()], ['b'])
  assert.deepEqual(failures, ['the tools of server wiki cannot be listed: connection refused'])
})

test('a source that does not respond is given up at the time limit, and its signal aborts', async () => {
  let given: AbortSignal | undefined
  const silent: ToolSource = {
    name: 'server slow',
    list: signal => {
      given = signal
      return new Promise(() => undefined)
    },
  }
  const { byName, failures } = await toolsOfSources([silent, sourceOf('two', 'b')], { ...listing, maxListMs: 20 })
  assert.deepEqual([[...byName.keys()], given?.aborted], [['b'], true])
  assert.match(failures[0] ?? '', /server slow cannot be listed: no response within 0.02 s/)
})
