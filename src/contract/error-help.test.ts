import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { errorHelp, helpForSessionError, sessionErrorHelp } from './error-help.ts'

test('every help has a cause and a next step, as sentences', () => {
  for (const [name, { cause, nextStep }] of Object.entries({ ...errorHelp, ...sessionErrorHelp }))
    for (const text of [cause, nextStep]) assert.match(text, /^[A-Z`].*\.$/, name)
})

test('a type of a later version has the help of an unknown error', () => {
  assert.equal(helpForSessionError('billing_error'), sessionErrorHelp.billing_error)
  for (const type of ['a_new_error', 'toString'])
    assert.equal(helpForSessionError(type), sessionErrorHelp.unknown_error)
})

test('codes and help load no other module in a browser', () => {
  for (const name of ['error-codes.ts', 'error-help.ts']) {
    const source = readFileSync(new URL(name, import.meta.url), 'utf8')
    for (const line of source.match(/^import .*/gm) ?? []) assert.match(line, /^import type /)
  }
})
