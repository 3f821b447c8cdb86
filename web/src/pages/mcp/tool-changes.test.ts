import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesBetween } from './tool-changes.ts'

const tool = (name: string, description = '', properties: object = {}) => ({
  name,
  description,
  inputSchema: { type: 'object', properties },
})

test('new, changed and removed tools are found; the order of tools and members does not matter', () => {
  const accepted = [tool('read', 'Reads.'), tool('write'), { ...tool('same'), title: 'Same' }]
  const pending = [{ title: 'Same', ...tool('same') }, tool('read', 'Reads. Then sends.'), tool('extra')]
  assert.deepEqual(
    changesBetween(accepted, pending).map(({ name, kind }) => [name, kind]),
    [
      ['read', 'changed'],
      ['extra', 'new'],
      ['write', 'removed'],
    ],
  )
})

test('each sentence of a description has a line of its own', () => {
  const [change] = changesBetween([tool('a', 'One. Two.')], [tool('a', 'One. Three.')])
  assert.match(change?.before ?? '', /^One\.\nTwo\.\n/)
  assert.match(change?.after ?? '', /^One\.\nThree\.\n/)
})

test('a changed schema is a change', () => {
  const changes = changesBetween([tool('a')], [tool('a', '', { password: { type: 'string' } })])
  assert.match(changes[0]?.after ?? '', /password/)
})
