import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkForTests } from './network.ts'
import { canary, recordedHosts } from './recorded-hosts.ts'

/** Tests that no request of a sandbox takes a secret to another place than its host. */
export async function testSecretAttacks(): Promise<void> {
  const names = ['api.example', 'other.example', 'free.example']
  const { hosts, ports, answers, tls, sent, run, lines } = await recordedHosts(names)
  const [api, other, free] = hosts
  if (!api || !other || !free) throw new Error('no hosts')
  const bearer = { vault_key: 'TOKEN', host: 'API.example', header: 'Authorization', auth_type: 'bearer_token' }
  const bound = { type: 'limited', allowed_hosts: names.map(host => ({ host, ports })), secrets: [bearer] }
  /** Sends bytes in the tunnel to the bound host, as its own client would. */
  const raw = (text: string) =>
    `printf '${text}' | timeout 5 openssl s_client -quiet -proxy 127.0.0.1:3128 -connect api.example:${api.port} -servername api.example 2>/dev/null`

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
    assert.equal(lines.filter(({ reason }) => /but its connection is to/.test(String(reason))).length, 3)
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

  test('a method whose response repeats the headers is denied', async () => {
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
    const { output } = await strict(bound, `curl -sS ${api.url}/`)
    assert.match(output, /^network access denied: api\.example is not a public address/)
  })

  test('a host that returns its secret returns asterisks to the sandbox', async () => {
    answers.set('/echo', (request, response) => {
      const { authorization = '' } = request.headers
      response.setHeader('x-echo', authorization)
      response.write(`{"coding":"${request.headers['accept-encoding']}","got":"${authorization.slice(0, 12)}`)
      setTimeout(() => response.end(`${authorization.slice(12)}"}`), 20)
    })
    const { output, requests } = await sent(bound, `curl -sSi --compressed ${api.url}/echo | tr -d '\\r'`)
    assert.equal(requests[0]?.headers.authorization, `Bearer ${canary}`)
    const stars = '*'.repeat(`Bearer ${canary}`.length)
    assert.match(output, new RegExp(`x-echo: ${stars.replaceAll('*', '\\*')}\n`))
    assert.ok(output.endsWith(`{"coding":"identity","got":"${stars}"}`), output)
  })
}
