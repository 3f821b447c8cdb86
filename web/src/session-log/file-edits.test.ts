import assert from 'node:assert/strict'
import { test } from 'node:test'
import { editsOf } from './file-edits.ts'
import { exitCode, lineCount } from './tool-text.ts'

const call = (name: string, input: unknown) => ({ name, input, server: undefined })

test('edit and write have the changes that they ask for; other tools have none', () => {
  const edit = { file_path: 'a.ts', old_string: 'x', new_string: 'y' }
  assert.deepEqual(editsOf(call('edit', edit)), [{ path: 'a.ts', before: 'x', after: 'y', isForEachMatch: false }])
  const several = { file_path: 'a.ts', edits: [edit, { ...edit, replace_all: true }, 'broken'] }
  assert.deepEqual(
    editsOf(call('edit', several)).map(({ isForEachMatch }) => isForEachMatch),
    [false, true],
  )
  const written = editsOf(call('write', { file_path: 'b', content: 'text' }))
  assert.deepEqual(written, [{ path: 'b', before: undefined, after: 'text', isForEachMatch: false }])
  for (const input of [undefined, null, 'text', {}, { file_path: 1 }])
    assert.deepEqual(editsOf(call('edit', input)), [])
  assert.deepEqual(editsOf({ ...call('write', { file_path: 'b', content: 'text' }), server: 'files' }), [])
})

test('the exit code of bash is in its last line', () => {
  const result = (text: string, isError: boolean) => ({ content: [{ type: 'text' as const, text }], isError, at: '' })
  assert.equal(exitCode({ name: 'bash', result: result('hi', false) }), 0)
  assert.equal(exitCode({ name: 'bash', result: result('hi\n[exit code 3]', true) }), 3)
  assert.equal(exitCode({ name: 'bash', result: result('[exit code 137: killed, possibly out of memory]', true) }), 137)
  assert.equal(exitCode({ name: 'bash', result: result('[stopped: timeout reached]', true) }), undefined)
  assert.equal(exitCode({ name: 'read', result: result('x', false) }), undefined)
})

test('a line feed at the end starts no line', () => {
  assert.deepEqual(['', 'a', 'a\n', 'a\nb', '\n\n'].map(lineCount), [0, 1, 1, 2, 2])
})
