import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkForTests } from '../../../test/support/network/network.ts'
import { canary, recordedHosts } from '../../../test/support/network/recorded-hosts.ts'
import { lack } from '../../../test/support/service/lack.ts'

if (!lack('bubblewrap') && !lack('socat')) {
  const names = ['api.example', 'other.example', 'free.example']
  const vault = { PAIR: 'ada:pass word', BROKEN: 'a\u00e4b', KEY: 'key-0123456789' }
  const { hosts, ports, answers, tls, sent, run, lines } = await recordedHosts(names, vault)
  const [api, other, free] = hosts
  if (!api || !other || !free) throw new Error('no hosts')
  const bearer = { vault_key: 'TOKEN', host: 'API.example', header: 'Authorization', auth_type: 'bearer_token' }
  const withSecrets = (...secrets: object[]) => ({
    type: 'limited',
    allowed_hosts: names.map(host => ({ host, ports })),
    secrets,
  })
  const bound = withSecrets(bearer)
  /** Sends bytes in the tunnel to the bound host, as its own client would. */
  const raw = (text: string) =>
    `printf '${text}' | timeout 5 openssl s_client -quiet -proxy 127.0.0.1:3128 -connect api.example:${api.port} -servername api.example 2>/dev/null`

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

  test('nothing in the sandbox, and no line of the log, has the secret', async () => {
    const everything = 'env; cat /proc/*/environ /proc/*/cmdline /run/*/*.pem 2>/dev/null | tr "\\0" "\\n"; ls -lR /run'
    const { output, requests } = await sent(bound, `curl -sS ${api.url}/path-canary -o /dev/null & wait; ${everything}`)
    assert.equal(requests[0]?.headers.authorization, `Bearer ${canary}`)
    assert.match(output, /BEGIN CERTIFICATE/)
    assert.ok(!output.includes(canary) && !output.includes('PRIVATE KEY'))
    assert.doesNotMatch(JSON.stringify(lines), /canary/)
    const line = lines.findLast(({ outcome }) => outcome === 'allowed')
    assert.deepEqual([line?.['host'], line?.['method'], line?.['status']], ['api.example', 'GET', 200])
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

  test('a request that names another host than its connection never gets the secret', async () => {
    const toApi = `--connect-to api.example:${api.port}:other.example:${other.port}`
    const commands = [
      `curl -sS ${api.url}/ -H 'Host: other.example'`,
      `curl -sS ${api.url}/ --request-target ${other.url}/`,
      `curl -sS ${api.url}/ --request-target http://api.example:${api.port}/`,
      // An open tunnel to another host, whose requests name the bound one.
      `curl -sSk ${free.url}/ -H 'Host: api.example'`,
      `curl -sSk ${toApi} ${api.url}/`,
      // The handshake names another host than the tunnel.
      `openssl s_client -proxy 127.0.0.1:3128 -connect api.example:${api.port} -servername other.example </dev/null 2>&1`,
      `printf 'GET ${api.url}/ HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n' > /dev/tcp/127.0.0.1/3128`,
      raw('CONNECT other.example:443 HTTP/1.1\\r\\nHost: other.example:443\\r\\n\\r\\n'),
    ]
    const { output, requests } = await sent(bound, commands.join('; echo; '))
    assert.deepEqual(
      requests.map(({ host, headers }) => [host, headers.authorization]),
      [
        ['free.example', undefined],
        ['other.example', undefined],
      ],
    )
    assert.equal(output.match(/but its connection is to api\.example/g)?.length, 3, output)
    assert.match(output, /no peer certificate available/)
    assert.match(output, /CONNECT needs host:port, and no other tunnel/)
  })

  test('a redirect to another host does not take the secret along', async () => {
    answers.set('/away', (_, response) => response.writeHead(302, { location: `${other.url}/there` }).end())
    const { requests } = await sent(bound, `curl -sSkL ${api.url}/away; curl -sSkL --location-trusted ${api.url}/away`)
    assert.deepEqual(
      requests.map(({ host, headers }) => [host, headers.authorization !== undefined]),
      [
        ['api.example', true],
        ['other.example', false],
        ['api.example', true],
        ['other.example', false],
      ],
    )
  })

  test('requests that two parsers read differently reach the host once at most, with one secret', async () => {
    const smuggled = 'GET /smuggled HTTP/1.1\\r\\nHost: api.example\\r\\nAuthorization: mine\\r\\n\\r\\n'
    const head = `POST /first HTTP/1.1\\r\\nHost: api.example:${api.port}\\r\\n`
    const bodies = [
      `Content-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n${smuggled}`,
      `Transfer-Encoding: xchunked\\r\\nContent-Length: 3\\r\\n\\r\\nabc`,
      `Transfer-Encoding: chunked, identity\\r\\n\\r\\n0\\r\\n\\r\\n`,
      `Content-Length: 3\\r\\nContent-Length: 4\\r\\n\\r\\nabcd`,
      `Content-Length: +3\\r\\n\\r\\nabc`,
      `Authorization : mine\\r\\n\\r\\n`,
      `X-A: b\\nAuthorization: mine\\r\\n\\r\\n`,
      `X-A: b\\r\\n Authorization: mine\\r\\n\\r\\n`,
      `X-A: b\\rAuthorization: mine\\r\\n\\r\\n`,
      `Auth\\0orization: mine\\r\\n\\r\\n`,
    ]
    const { output, requests } = await sent(bound, bodies.map(body => raw(head + body)).join('; echo; '))
    for (const { method, path, headers, rawHeaders } of requests) {
      assert.deepEqual([method, path, headers.authorization], ['POST', '/first', `Bearer ${canary}`], output)
      assert.equal(rawHeaders.filter(name => /authorization/i.test(name)).length, 1)
    }
    assert.ok((output.match(/HTTP\/1\.1 400 Bad Request/g)?.length ?? 0) >= 8, output)
  })

  test('a method that repeats the headers is denied, and a response cannot be read as a further one', async () => {
    const { output, requests } = await sent(bound, `curl -sS -X TRACE ${api.url}/`)
    assert.match(output, /network access denied: method TRACE to api\.example would reveal its secrets/)
    assert.deepEqual(requests, [])
  })

  test('a host without a valid certificate gets nothing', async () => {
    const cases = [
      ['CERT_HAS_EXPIRED', { isExpired: true }],
      ['DEPTH_ZERO_SELF_SIGNED_CERT', { isSelfSigned: true }],
      ['ERR_TLS_CERT_ALTNAME_INVALID', { certified: 'api.example' }],
    ] as const
    for (const [code, options] of cases) {
      let count = 0
      const { port } = await tls.serve('wrong.example', (_, response) => void response.end(String(count++)), options)
      const network = {
        type: 'limited',
        allowed_hosts: [{ host: 'wrong.example', ports: [port] }],
        secrets: [{ ...bearer, host: 'wrong.example' }],
      }
      const { output } = await run(network, `curl -sSk https://wrong.example:${port}/`)
      assert.equal(output, `the certificate of wrong.example is not valid (${code})\n`)
      assert.equal(count, 0)
    }
  })

  test('an intercepted host with a private address stays out of reach', async () => {
    const { run: strict } = await networkForTests({
      vault: { TOKEN: canary },
      lookup: (_name, _options, done) => done(null, [{ address: '10.0.0.1', family: 4 }]),
    })
    const { output } = await strict(withSecrets(bearer), `curl -sS ${api.url}/`)
    assert.match(output, /^network access denied: api\.example is not a public address/)
  })
}
