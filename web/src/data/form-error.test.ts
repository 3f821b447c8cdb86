import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../src/client/index.ts'
import { formErrorOf } from './form-error.ts'

const fields = ['params', 'params.model', 'max_budget', 'models'] as const
const at = (message: string, status = 400) => {
  const error = formErrorOf(new ApiError(message, { status }), fields)
  return fields.find(field => error.at(field) !== undefined) ?? error.rest
}

test('an error belongs to the field at the start of its message', () => {
  assert.equal(at('max_budget must be >= 0'), 'max_budget')
  assert.equal(at('models[0] must not be blank'), 'models')
  assert.equal(at('params.model is required'), 'params.model')
  assert.equal(at('params.api_base: 10.0.0.5:8000 is not a public address'), 'params')
  assert.equal(at('max_budget exceeds the limit of your own key', 403), 'max_budget')
})

test('other errors belong to the form', () => {
  assert.ok(at('max_budgets is unknown') instanceof ApiError)
  assert.ok(at('models are unreachable', 503) instanceof ApiError)
  const unknown = new Error('no network')
  assert.equal(formErrorOf(unknown, fields).rest, unknown)
})
