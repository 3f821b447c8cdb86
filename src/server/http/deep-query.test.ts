import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sessionRoutes } from '../../contract/sessions.ts'
import { nestedQuery, objectFieldsOf } from './deep-query.ts'

test('entries of an object in an address become the object; all else stays', () => {
  const query = { 'metadata[team]': 'blue', 'metadata[a[0]]': 'x', 'types[]': ['a'], 'other[k]': 'v', limit: '5' }
  assert.deepEqual(nestedQuery(query, ['metadata']), {
    metadata: { team: 'blue', 'a[0]': 'x' },
    'types[]': ['a'],
    'other[k]': 'v',
    limit: '5',
  })
})

test('a name such as __proto__ is a name like any other', () => {
  const { metadata } = nestedQuery({ 'metadata[__proto__]': 'x' }, ['metadata']) as { metadata: object }
  assert.deepEqual(Object.entries(metadata), [['__proto__', 'x']])
  assert.deepEqual(Object.entries(nestedQuery({ 'metadata[]': 'x' }, ['metadata'])), [['metadata[]', 'x']])
})

test('the routes say which fields are objects', () => {
  assert.deepEqual(objectFieldsOf(sessionRoutes.list.query), ['metadata'])
  assert.deepEqual(objectFieldsOf(sessionRoutes.messages.query), [])
  assert.deepEqual(objectFieldsOf(undefined), [])
})
