import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configReader } from '../../../test/support/service/config-file.ts'

const { load, problemsOf } = configReader()

test('D8, S56: public_url and trust_proxy are empty by default', () => {
  const { publicUrl, trustProxy } = load({})
  assert.deepEqual([publicUrl, trustProxy], [undefined, []])
})

test('D8: a trailing slash of public_url is removed, and trust_proxy accepts IPv4 and IPv6 networks', () => {
  const { publicUrl, trustProxy } = load({
    yaml: "general_settings: {public_url: 'https://a.example/x/', trust_proxy: [10.0.0.0/8, 'fd00::/8']}",
  })
  assert.deepEqual([publicUrl, trustProxy], ['https://a.example/x', ['10.0.0.0/8', 'fd00::/8']])
})

for (const [url, expected] of [
  ['a.example', 'must be an http or https URL'],
  ['ftp://a.example', 'must be an http or https URL'],
  ["'https://a.example?b=c'", 'must not have a query or a fragment'],
  ['https://u:p@a.example', 'must not have a user name or a password'],
] as const)
  test(`D8: public_url ${url} stops the start and is reported with its line`, () =>
    assert.deepEqual(problemsOf({ yaml: `general_settings:\n  public_url: ${url}\n` }), [
      `2: general_settings.public_url ${expected}`,
    ]))

for (const network of [
  '10.0.0.1',
  '10.0.0.0/33',
  "'fd00::/129'",
  'proxy.example/8',
  '10.0.0/8',
  '10.0.0.0/',
  "'fe80::1%eth0/64'",
])
  test(`D8, S56: trust_proxy entry ${network} stops the start and is reported with its line`, () =>
    assert.deepEqual(problemsOf({ yaml: `general_settings:\n  trust_proxy:\n    - 10.0.0.0/8\n    - ${network}\n` }), [
      '4: general_settings.trust_proxy[1] must be a network such as 10.0.0.0/8, 192.0.2.7/32 or fd00::/8',
    ]))
