import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sessionRoutes } from '../../contract/sessions.ts'
import { nestedQuery, objectFieldsOf } from './deep-query.ts'

test('entries of an object field become an object; other fields stay unchanged', () => {
  const query = { 'metadata[team]': 'blue', 'metadata[a[0]]': 'x', 'types[]': ['a'], 'other[k]': 'v', limit: '5' }
  assert.deepEqual(nestedQuery(query, ['metadata']), {
    metadata: { team: 'blue', 'a[0]': 'x' },
    'types[]': ['a'],
    'other[k]': 'v',
    limit: '5',
  })
})

test('the name __proto__ is treated like any other', () => {
  const { metadata } = nestedQuery({ 'metadata[__proto__]': 'x' }, ['metadata']) as { metadata: object }
  assert.deepEqual(Object.entries(metadata), [['__proto__', 'x']])
  assert.deepEqual(Object.entries(nestedQuery({ 'metadata[]': 'x' }, ['metadata'])), [['metadata[]', 'x']])
})

test('object fields are read from the route schema', () => {
  assert.deepEqual(objectFieldsOf(sessionRoutes.list.query), ['metadata'])
  assert.deepEqual(objectFieldsOf(sessionRoutes.messages.query), [])
  assert.deepEqual(objectFieldsOf(undefined), [])
})
