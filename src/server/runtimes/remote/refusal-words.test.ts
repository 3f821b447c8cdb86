import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalWords } from './refusal-words.ts'

test('C5: the words of a refusal are found in every shape that servers use', () => {
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
    assert.equal(refusalWords(JSON.stringify(body)), said, JSON.stringify(body))
  assert.equal(refusalWords(said), said)
})

test('C5: a page, a number and an empty body say nothing', () => {
  for (const body of ['', '<html><body>502</body></html>', '17', '{}', '{"error":{}}', '[]'])
    assert.equal(refusalWords(body), undefined, body)
})
