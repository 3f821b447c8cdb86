import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { ByteGate } from '../platform/byte-gate.ts'
import { quiet, sandboxesForTests } from '../sandboxes/sandboxes-for-tests.ts'
import { defaultToolLimits, type ToolContext, toolMemoryBytes } from './tool.ts'
import { servicesForTests } from './tools-for-tests.ts'
import { builtinTools } from './toolset.ts'

const MiB = 1024 * 1024
const memory = new ByteGate(toolMemoryBytes)
const sandboxes = await sandboxesForTests('virtual')

async function setUp(id: string, signal = new AbortController().signal) {
  const context: ToolContext = {
    sandbox: await sandboxes.open(id),
    signal,
    limits: defaultToolLimits,
    memory,
    log: quiet,
    ...servicesForTests(),
  }
  const call = async (name: string, input: unknown) => {
    const tool = builtinTools.find(builtin => builtin.name === name)
    assert(tool)
    const { content } = await tool.run(input, context)
    return content.map(({ text }) => text).join('')
  }
  return { call, folder: join(sandboxes.workspacesDir, id) }
}

test('H7: an edit with a result that is too large is rejected, and the file is unchanged', async () => {
  const { call, folder } = await setUp('ses_1')
  await writeFile(join(folder, 'a'), 'a'.repeat(MiB))
  const edit = { file_path: 'a', old_string: 'a', replace_all: true }
  assert.match(await call('edit', { ...edit, new_string: 'b'.repeat(50) }), /would have 52428800 bytes, limit 10 MiB/)
  assert.equal(await readFile(join(folder, 'a'), 'utf8'), 'a'.repeat(MiB))
  assert.match(await call('edit', { ...edit, new_string: 'é' }), /\(1048576 places\)/)
  assert.equal(await readFile(join(folder, 'a'), 'utf8'), 'é'.repeat(MiB))
})

test('H7: parallel edits above 256 MiB wait for each other and release all memory', async () => {
  const { call, folder } = await setUp('ses_2')
  const names = Array.from({ length: 20 }, (_, at) => `file${at}`)
  for (const name of names) await writeFile(join(folder, name), 'a'.repeat(MiB))
  let most = 0
  const watching = setInterval(() => {
    most = Math.max(most, memory.usedBytes)
  }, 1)
  const edits = names.map(file_path => call('edit', { file_path, old_string: 'a', new_string: 'b', replace_all: true }))
  for (const text of await Promise.all(edits)) assert.match(text, /1048576 places/)
  clearInterval(watching)
  assert.ok(most > 100 * MiB && most <= 256 * MiB, `${most} bytes were reserved`)
  assert.equal(memory.usedBytes, 0)
})

test('H7: reading some lines decodes only those', async () => {
  const { call, folder } = await setUp('ses_3')
  await writeFile(join(folder, 'lines'), `first\n${'\n'.repeat(9 * MiB)}last but one\nlast`)
  const lines = 9 * MiB + 3
  const text = await call('read', { file_path: 'lines', view_range: [lines - 1, -1] })
  const rest = `[lines ${lines - 1} to ${lines} of ${lines}]`
  assert.equal(text, `${lines - 1}\tlast but one\n${lines}\tlast\n${rest}`)
  await writeFile(join(folder, 'long'), `${'é'.repeat(3_000)}\r\n${'é'.repeat(2_000)}\r\n`)
  const [cut = '', whole = ''] = (await call('read', { file_path: 'long' })).split('\n')
  assert.deepEqual([cut, whole], [`     1\t${'é'.repeat(2_000)}...`, `     2\t${'é'.repeat(2_000)}`])
})

test('H7: an interrupted edit stops at once', async () => {
  const stop = new AbortController()
  const { call, folder } = await setUp('ses_4', stop.signal)
  await writeFile(join(folder, 'a'), 'a'.repeat(9 * MiB))
  const editing = call('edit', { file_path: 'a', old_string: 'a', new_string: 'b', replace_all: true })
  setImmediate(() => stop.abort())
  assert.equal(await editing, 'cancelled')
  assert.equal((await readFile(join(folder, 'a'), 'utf8')).includes('b'), false)
  assert.equal(memory.usedBytes, 0)
})
