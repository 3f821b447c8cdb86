import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorTextIn } from './error-text.ts'

test('C5: the message of an error body is found in every shape that servers use', () => {
  const said = 'model is required'
  for (const body of [
    { error: said },
    { error: { type: 'invalid_request_error', message: said } },
    { message: said },
    { detail: said },
    { detail: [{ msg: 'x', message: said }] },
    { data: { message: said } },
    { success: false, error: [{ code: 'invalid_type', path: ['model'], message: said }] },
    { errors: [{ message: said }] },
    said,
  ])
    assert.equal(errorTextIn(JSON.stringify(body)), said, JSON.stringify(body))
  assert.equal(errorTextIn(said), said)
})

test('C5: a page, a number and an empty body have no message', () => {
  for (const body of ['', '<html><body>502</body></html>', '17', '{}', '{"error":{}}', '[]'])
    assert.equal(errorTextIn(body), undefined, body)
})
