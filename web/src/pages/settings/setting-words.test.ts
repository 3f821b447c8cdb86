import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Setting } from '../../../../src/contract/settings.ts'
import { matching, valueWords } from './setting-words.ts'

const setting = (name: string, changes: Partial<Setting> = {}): Setting => ({
  name,
  value: null,
  source: 'default',
  is_secret: false,
  is_set: false,
  ...changes,
})

test('the value of a secret is never shown, only whether it is set', () => {
  assert.equal(valueWords(setting('master_key', { is_secret: true, is_set: true, value: 'leaked' })), 'set (secret)')
  assert.equal(valueWords(setting('master_key', { is_secret: true })), 'not set')
  assert.equal(valueWords(setting('PORT', { value: 4000, is_set: true })), '4000')
  assert.equal(valueWords(setting('hooks', { value: ['a'] })), '["a"]')
  assert.equal(valueWords(setting('config')), 'not set')
})

test('settings are found by name and value, on request without defaults', () => {
  const all = [setting('PORT', { value: 4000, source: 'environment' }), setting('limits.max_sessions', { value: 40 })]
  const names = (q: string | undefined, isChanged = false) => matching(all, { q, isChanged }).map(({ name }) => name)
  assert.deepEqual(names(undefined), ['PORT', 'limits.max_sessions'])
  assert.deepEqual(names('port'), ['PORT'])
  assert.deepEqual(names('40'), ['PORT', 'limits.max_sessions'])
  assert.deepEqual(names(undefined, true), ['PORT'])
})
