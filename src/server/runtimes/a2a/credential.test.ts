import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../platform/json.ts'
import { credentialHeaders } from './credential.ts'

const http = (scheme: string) => ({ httpAuthSecurityScheme: { scheme } })
const inHeader = (name: string, location = 'header') => ({ apiKeySecurityScheme: { location, name } })
const needs = (...names: string[]) => ({ schemes: Object.fromEntries(names.map(name => [name, { list: [] }])) })
const card = (securitySchemes: Json, ...securityRequirements: Json[]) => ({ securitySchemes, securityRequirements })

const carried: readonly (readonly [string, Json, string, Json])[] = [
  ['without schemes as a bearer token', {}, 'k', { authorization: 'Bearer k' }],
  ['as a bearer token', card({ a: http('Bearer') }, needs('a')), 'k', { authorization: 'Bearer k' }],
  ['as user and password', card({ a: http('basic') }, needs('a')), 'ada:pw', { authorization: 'Basic YWRhOnB3' }],
  ['in a header', card({ a: inHeader('X-Api-Key') }, needs('a')), 'k', { 'x-api-key': 'k' }],
  ['as an access token', card({ a: { oauth2SecurityScheme: {} } }, needs('a')), 'k', { authorization: 'Bearer k' }],
  [
    'by the first requirement that is supported',
    card({ a: inHeader('k', 'query'), b: http('bearer') }, needs('a'), needs('b')),
    'k',
    { authorization: 'Bearer k' },
  ],
  ['by a scheme that is optional', card({ a: inHeader('x-key') }), 'k', { 'x-key': 'k' }],
]

for (const [how, given, apiKey, headers] of carried) {
  test(`the key is sent ${how}`, () => assert.deepEqual(credentialHeaders(given, { apiKey }), headers))
}

test('an agent that needs no key gets none', () => {
  assert.deepEqual(credentialHeaders({}, { apiKey: undefined }), {})
  assert.deepEqual(credentialHeaders(card({ a: http('bearer') }, needs('a'), needs()), { apiKey: undefined }), {})
})

test('a card that needs a credential names it when there is no key', () => {
  const given = card({ a: http('bearer') }, needs('a'))
  assert.throws(() => credentialHeaders(given, { apiKey: undefined }), /requires a credential \(a\); set api_key/)
})

const unsupported: readonly (readonly [string, Json, string])[] = [
  ['a key in the query', card({ a: inHeader('k', 'query') }, needs('a')), 'k'],
  ['a key in a header of the request itself', card({ a: inHeader('Host') }, needs('a')), 'k'],
  ['a name that is no header', card({ a: inHeader('a b') }, needs('a')), 'k'],
  ['a password without a user', card({ a: http('basic') }, needs('a')), 'k'],
  ['a certificate', card({ a: { mtlsSecurityScheme: {} } }, needs('a')), 'k'],
  ['two credentials at once', card({ a: http('bearer'), b: inHeader('x') }, needs('a', 'b')), 'k'],
]

for (const [what, given, apiKey] of unsupported) {
  test(`${what} is not supported, and the message lists what is`, () => {
    assert.throws(
      () => credentialHeaders(given, { apiKey }),
      /accepts no credential that is supported: a key in a header/,
    )
  })
}
