import assert from 'node:assert/strict'
import { test } from 'node:test'
import { customEntryProblem, customSource, customTools, maxCustomTools } from './custom-tools.ts'
import { isAwaitedTool } from './tool-source.ts'

const ring = { type: 'custom', name: 'ring', description: 'Rings', input_schema: { type: 'object' } }

const problems: readonly [string, object, readonly unknown[], RegExp][] = [
  ['no name', { name: undefined }, [], /^\.name must have 1 to 128 letters/],
  ['a name with a space', { name: 'ring it' }, [], /^\.name must have/],
  ['a name that is too long', { name: 'r'.repeat(129) }, [], /^\.name must have/],
  ['the name of a built-in tool', { name: 'bash' }, [], /^\.name bash is the name of a built-in tool/],
  ['the name of a memory tool', { name: 'save_memory' }, [], /^\.name save_memory is the name of/],
  ['a name that is used twice', {}, ['ring'], /^\.name ring is already used/],
  ['too many tools before it', {}, Array.from({ length: maxCustomTools }, (_, at) => `t${at}`), /^ is one too many/],
  ['a description that is no text', { description: 5 }, [], /^\.description must be a text/],
  ['no schema', { input_schema: undefined }, [], /^\.input_schema must be a JSON Schema object/],
  ['the schema of a list', { input_schema: { type: 'array' } }, [], /^\.input_schema must be/],
  ['a time below a second', { timeout_seconds: 0 }, [], /^\.timeout_seconds must be a whole number from 1 to 604800/],
  ['a time of more than 7 days', { timeout_seconds: 604_801 }, [], /^\.timeout_seconds/],
]

for (const [what, changes, others, message] of problems) {
  test(`a custom tool with ${what} has a problem that names the field`, () => {
    const found = customEntryProblem({ ...ring, ...changes }, others)
    assert.match(`${found?.field} ${found?.problem}`.replace(/^ {2}/, ' '), message)
  })
}

test('a complete custom tool has no problem, also without description and time limit', () => {
  assert.equal(customEntryProblem(ring, ['other']), undefined)
  const { description: _description, ...bare } = ring
  assert.equal(customEntryProblem({ ...bare, timeout_seconds: null }, []), undefined)
})

test('the time to answer is that of the tool, else that of the agent, else 24 h', () => {
  const tools = [
    { ...ring, timeout_seconds: 5 },
    { ...ring, name: 'knock' },
  ]
  const times = (config: object) => customTools(tools, { ...config }).map(({ timeoutSeconds }) => timeoutSeconds)
  assert.deepEqual(times({}), [5, 86_400])
  assert.deepEqual(times({ custom_tool_timeout_seconds: 60 }), [5, 60])
})

test('a call that no client answered in time has an error result that is not in the log yet', async () => {
  const [tool] = await customSource(customTools([{ ...ring, timeout_seconds: 5 }], {}), {
    endOf: async () => ({ state: 'expired' }),
    mismatch: async () => undefined,
  }).list(new AbortController().signal, () => undefined)
  assert.ok(tool && isAwaitedTool(tool))
  const result = await tool.result('evt_1')
  assert.deepEqual([result?.is_error, result?.isLogged], [true, false])
  assert.match(result?.content[0]?.text ?? '', /within 5 s/)
})
