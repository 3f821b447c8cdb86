import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../platform/errors.ts'
import type { Json } from '../platform/json.ts'
import { identityOf, mergedClaims } from './claims.ts'

type Settings = Parameters<typeof identityOf>[1]

const settings: Settings = {
  issuer: 'https://login.example',
  claims: { owner: undefined, email: 'email', name: 'name', groups: 'groups' },
  allowedDomains: undefined,
  roles: { admin: ['ops'], member: ['dev'], viewer: [] },
}
const claims = { sub: 'a1', name: 'Ada', email: 'ada@acme.example', email_verified: true, groups: ['dev'] }
const read = (changes: Json = {}, more: Partial<Settings> = {}) =>
  identityOf({ ...claims, ...changes }, { ...settings, ...more })

test('an identity has the name, the verified address, the groups and the role of the claims', () => {
  assert.deepEqual(read(), {
    issuer: 'https://login.example',
    subject: 'a1',
    name: 'Ada',
    email: 'ada@acme.example',
    owner: undefined,
    groups: ['dev'],
    role: 'member',
  })
})

const emails: readonly (readonly [guarantee: string, changes: Json, expected: string | null])[] = [
  ['an address whose flag is a text is verified', { email_verified: 'true' }, claims.email],
  ['an address without the flag is not verified', { email_verified: undefined }, null],
  ['an address with another flag is not verified', { email_verified: 1 }, null],
  ['an address with two signs is none', { email: 'ada@evil.example@acme.example' }, null],
  ['an address with a space is none', { email: 'ada @acme.example' }, null],
]
for (const [guarantee, changes, expected] of emails) test(guarantee, () => assert.equal(read(changes).email, expected))

const roles: readonly (readonly [guarantee: string, groups: unknown, expected: string | null])[] = [
  ['the strongest role of several groups applies', ['dev', 'ops'], 'admin'],
  ['a single group may be a text', 'ops', 'admin'],
  ['a person without a mapped group has no role', ['sales'], null],
  ['a person without groups has no role', undefined, null],
  ['a group that is named like the wildcard is no wildcard', ['*'], null],
]
for (const [guarantee, groups, expected] of roles) test(guarantee, () => assert.equal(read({ groups }).role, expected))

test('the wildcard gives a role to everybody, and without roles groups decide none', () => {
  assert.equal(read({ groups: [] }, { roles: { admin: [], member: [], viewer: ['*'] } }).role, 'viewer')
  assert.equal(read({}, { roles: undefined }).role, undefined)
})

const rejected: readonly (readonly [guarantee: string, changes: Json, more: Partial<Settings>])[] = [
  ['claims without a subject', { sub: '' }, {}],
  ['an address of another domain', {}, { allowedDomains: ['example'] }],
  [
    'an address that is not verified, with allowed domains',
    { email_verified: false },
    { allowedDomains: ['acme.example'] },
  ],
  ['a missing owner claim', {}, { claims: { ...settings.claims, owner: 'login' } }],
  ['a blank owner claim', { login: ' ' }, { claims: { ...settings.claims, owner: 'login' } }],
]
for (const [guarantee, changes, more] of rejected)
  test(`${guarantee} is forbidden`, () =>
    assert.throws(
      () => read(changes, more),
      error => error instanceof AppError && error.code === 'forbidden',
    ))

test('domains are compared in lower case', () => {
  assert.equal(read({ email: 'ada@ACME.example' }, { allowedDomains: ['acme.example'] }).email, 'ada@ACME.example')
})

const names = { email: 'email' }
const merges: readonly (readonly [guarantee: string, token: Json, info: Json, expected: Json])[] = [
  [
    'the ID token wins over the user information',
    { sub: 'a', name: 'Ada', email: 'a@x', email_verified: true },
    { sub: 'a', name: 'Eve', email: 'b@x', email_verified: true, groups: ['dev'] },
    { sub: 'a', name: 'Ada', email: 'a@x', email_verified: true, groups: ['dev'] },
  ],
  [
    'the flag of the user information does not verify the address of the ID token',
    { sub: 'a', email: 'a@x' },
    { sub: 'a', email: 'b@x', email_verified: true },
    { sub: 'a', email: 'b@x', email_verified: true },
  ],
  [
    'an address and a flag of different sources are no verified address',
    { sub: 'a', email: 'a@x' },
    { sub: 'a', email_verified: true },
    { sub: 'a', email: undefined, email_verified: undefined },
  ],
]
for (const [guarantee, token, info, expected] of merges)
  test(guarantee, () => assert.deepEqual(mergedClaims(token, info, names), expected))
