import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attacks, controls } from './controls.ts'
import { checkFiles, idOfFile, testFiles, withoutTest } from './tests-of-controls.ts'

test('every control and every attack has a test by its id', () => {
  assert.deepEqual(withoutTest([...controls, ...attacks].map(({ id }) => id)), [])
})

test('the controls are S01 to S60, and every id in the name of a test is one of them', () => {
  const ids = Array.from({ length: 60 }, (_, at) => `S${String(at + 1).padStart(2, '0')}`)
  assert.deepEqual(
    controls.map(({ id }) => id),
    ids,
  )
  const named = [...[...testFiles().values()].flat(), ...checkFiles().map(idOfFile)]
  const listed = new Set([...ids, ...attacks.map(({ id }) => id)])
  assert.deepEqual(
    named.filter(id => !listed.has(id)),
    [],
  )
})
