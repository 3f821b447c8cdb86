import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canary, recordedHosts } from '../../../test/support/network/recorded-hosts.ts'
import { testSecretAttacks } from '../../../test/support/network/secret-attacks.ts'
import { lack } from '../../../test/support/service/lack.ts'

if (!lack('bubblewrap') && !lack('socat')) {
  const names = ['api.example', 'other.example', 'free.example']
  const vault = { PAIR: 'ada:pass word', BROKEN: 'a\u00e4b', KEY: 'key-0123456789' }
  const { hosts, ports, sent, run } = await recordedHosts(names, vault)
  const [api, other, free] = hosts
  if (!api || !other || !free) throw new Error('no hosts')
  const bearer = { vault_key: 'TOKEN', host: 'API.example', header: 'Authorization', auth_type: 'bearer_token' }
  const withSecrets = (...secrets: object[]) => ({
    type: 'limited',
    allowed_hosts: names.map(host => ({ host, ports })),
    secrets,
  })
  const bound = withSecrets(bearer)

  test('the bound host gets the secret in its header, in place of what the program sends there', async () => {
    const headers = `-H 'authorization: Bearer mine' -H 'AUTHORIZATION: other' -H 'connection: authorization'`
    const { output, requests } = await sent(bound, `curl -sS '${api.url}/a//b?c=%2f' ${headers} -d body`)
    assert.equal(output, 'body')
    assert.deepEqual(
      requests.map(({ method, path, headers }) => [method, path, headers.host, headers.authorization]),
      [['POST', '/a//b?c=%2f', `api.example:${api.port}`, `Bearer ${canary}`]],
    )
    const count = requests[0]?.rawHeaders.filter(name => name.toLowerCase() === 'authorization').length
    assert.equal(count, 1)
  })

  test('a value is sent unchanged, as bearer token or as basic credentials', async () => {
    const network = withSecrets(
      { vault_key: 'PAIR', host: 'api.example', header: 'authorization', auth_type: 'basic' },
      { vault_key: 'KEY', host: 'api.example', header: 'X-Api-Key' },
      { vault_key: 'TOKEN', host: 'other.example', header: 'authorization' },
    )
    const { requests } = await sent(network, `curl -sSk ${api.url}/ ${other.url}/ ${free.url}/`)
    assert.deepEqual(
      requests.map(({ headers }) => [headers.authorization, headers['x-api-key']]),
      [
        [`Basic ${Buffer.from('ada:pass word').toString('base64')}`, 'key-0123456789'],
        [canary, undefined],
        [undefined, undefined],
      ],
    )
  })

  test('a request without its secret is not sent', async () => {
    for (const [vault_key, message] of [
      ['NONE', /^vault entry NONE of config\.network\.secrets does not exist$/m],
      ['BROKEN', /^vault entry BROKEN contains a character that is not allowed in the header x-key$/m],
    ] as const) {
      const network = withSecrets({ vault_key, host: 'api.example', header: 'x-key' })
      const { output, requests } = await sent(network, `curl -sS ${api.url}/`)
      assert.match(output, message)
      assert.deepEqual(requests, [])
    }
    const { output } = await run(bound, `curl -sS http://api.example:${api.port}/`)
    assert.match(output, /secrets of api\.example are sent over HTTPS only/)
  })

  await testSecretAttacks()
}
