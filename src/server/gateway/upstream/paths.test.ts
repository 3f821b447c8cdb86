import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import { nativeLocation, nativePath } from './paths.ts'

const at = (apiBase: string) => ({
  deployment: deploymentAt(apiBase, { protocols: ['openai-chat'] }),
  protocol: 'openai-chat' as const,
})

const locations: readonly (readonly [base: string, location: string, here: string])[] = [
  ['https://up.test/v1', '/v1/files/f', '/openai/v1/files/f'],
  ['https://up.test/v1', 'https://up.test/v1/files/f?a=%2F', '/openai/v1/files/f?a=%2F'],
  ['https://up.test/proxy/v1', 'https://up.test/proxy/v1/files/f', '/openai/v1/files/f'],
  ['https://up.test/proxy/v1', 'https://up.test/other/f', 'https://up.test/other/f'],
  ['https://up.test', 'https://up.test/v1beta/files/f', '/openai/v1beta/files/f'],
  ['https://up.test/v1', 'https://storage.test/f?signature=s', 'https://storage.test/f?signature=s'],
  ['https://up.test/v1', '//storage.test/f', '//storage.test/f'],
  ['https://up.test/v1', 'files/f', 'files/f'],
  ['https://up.test/v1', 'https://[', 'https://['],
]

for (const [base, location, here] of locations) {
  test(`the location ${location} of an upstream at ${base} becomes ${here} for clients`, () => {
    assert.equal(nativeLocation(at(base), location, '/openai'), here)
    if (here === location || location.includes('?')) return
    const path = nativePath(at(base), here.slice('/openai'.length))
    assert.equal(`${base}${path}`, new URL(location, base).href)
  })
}
