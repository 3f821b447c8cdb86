import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { diffLines, editsOf } from './file-edits.ts'
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

test('a diff keeps the lines around a change', () => {
  const lines = diffLines({ before: 'a\nb\nc\nd\n', after: 'a\nc\nx\nd\n' })
  assert.deepEqual(
    lines.map(({ kind, text }) => `${kind} ${text}`),
    ['same a', 'removed b', 'same c', 'added x', 'same d'],
  )
})

test('a diff contains both texts, line by line', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
    .map(lines => lines.map(line => `${line}\n`).join(''))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines({ before, after })
      const without = (kind: string) =>
        lines
          .filter(line => line.kind !== kind)
          .map(line => `${line.text}\n`)
          .join('')
      assert.equal(without('added'), before)
      assert.equal(without('removed'), after)
    }),
  )
})

test('long texts that differ everywhere are replaced as a whole', () => {
  const numbered = (name: string) => Array.from({ length: 1_100 }, (_, at) => `${name}${at}`).join('\n')
  const lines = diffLines({ before: numbered('a'), after: numbered('b') })
  assert.equal(lines.length, 2_200)
  assert.equal(lines[1_099]?.kind, 'removed')
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
