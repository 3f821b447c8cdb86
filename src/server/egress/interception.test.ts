import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordedHosts } from '../../../test/support/network/recorded-hosts.ts'
import { lack } from '../../../test/support/service/lack.ts'

if (!lack('bubblewrap') && !lack('socat')) {
  const { hosts, ports, answers, sent, run, sandboxes } = await recordedHosts(['read.example', 'open.example'])
  const [read, open] = hosts
  if (!read || !open) throw new Error('no hosts')
  const network = {
    type: 'limited',
    allowed_hosts: [
      { host: '*.example', ports, methods: ['GET', 'PUT'] },
      { host: 'open.example', ports },
    ],
  }

  test('methods count inside of HTTPS, also those that a header names', async () => {
    const override = `-H 'x-http-method-override: delete'`
    const { output, requests } = await sent(
      network,
      [
        `curl -sS -T - ${read.url}/put <<< body`,
        `curl -sS -X DELETE ${read.url}/`,
        `curl -sS ${read.url}/ ${override}`,
        `curl -sS ${read.url}/ -H 'X-Method-Override: PATCH, GET'`,
        `curl -sSk -X DELETE ${open.url}/open -d body ${override}`,
      ].join('\n'),
    )
    assert.deepEqual(
      requests.map(({ method, path }) => [method, path]),
      [
        ['PUT', '/put'],
        ['DELETE', '/open'],
      ],
    )
    const [put, denied, named, several] = output.split('\n')
    assert.equal(put, 'body')
    assert.equal(
      denied,
      'network access denied: method DELETE to read.example is not in config.network.allowed_hosts of this agent',
    )
    assert.match(named ?? '', /denied: method DELETE to .*; the header x-http-method-override names it$/)
    assert.match(several ?? '', /denied: method PATCH to .*; the header x-method-override names it$/)
  })

  test('a host without rules for requests stays a tunnel with its own certificate', async () => {
    const issuer = (url: string) => `curl -sSkv ${url}/ 2>&1 | grep issuer:`
    const { output } = await run(network, `${issuer(read.url)}; ${issuer(open.url)}`)
    assert.match(output, /issuer: CN=Switchyard sandbox network [0-9a-f]{16}\n.*issuer: CN=Test authority\n/)
  })

  test('the authority of a network is accepted in that network only, and its key stays in the server', async () => {
    const save = 'cp /run/switchyard-network/*.pem . && ls'
    const first = await run(network, `${save}; openssl verify -CAfile authority.pem authority.pem`, 'ses_ca')
    assert.equal(first.output, 'authority.pem\nca-certificates.pem\nauthority.pem: OK\n')
    const later = await run(
      network,
      `curl -sS ${read.url}/ --cacert authority.pem; curl -sS ${read.url}/ -w ok`,
      'ses_ca',
    )
    assert.match(
      later.output,
      /^curl: \(60\) SSL certificate problem: unable to get local issuer certificate(.|\n)*\nok$/,
    )
    const none = await run({ type: 'limited', allowed_hosts: ['open.example'] }, 'ls /run/*; env | grep -c CERT')
    assert.equal(none.output, 'proxy.sock\n0\n')
  })

  test('bodies pass while they are sent, in both directions', async () => {
    let release: () => void = () => undefined
    answers.set('/slow', (_, response) => {
      response.write('first\n')
      release = () => response.end('last\n')
    })
    answers.set('/release', (_, response) => {
      release()
      response.end()
    })
    const { output } = await run(
      network,
      `curl -sSN ${read.url}/slow > slow & until grep -qs first slow; do sleep 0.05; done; curl -sS ${read.url}/release; wait; cat slow
       head -c 30000000 /dev/zero | curl -sS -T - ${read.url}/large | wc -c`,
    )
    assert.equal(output, 'first\nlast\n30000000\n')
  })

  test('WebSocket connections and large headers are rejected with a reason, and HTTP in a tunnel is served', async () => {
    const upgrade = `-H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13'`
    const { output, requests } = await sent(
      network,
      [
        `curl -sS ${read.url}/ ${upgrade}`,
        `curl -s ${read.url}/ -H "x-large: $(head -c 40000 /dev/zero | tr '\\0' a)" -o /dev/null -w '%{http_code}\\n'`,
        `curl -sS --proxytunnel -X DELETE http://read.example:${read.port}/`,
        `curl -sS --proxytunnel http://read.example:${read.port}/`,
      ].join('\n'),
    )
    assert.match(
      output,
      /^network access denied: WebSocket connections to read\.example are not supported: .*\n(431|000)\nnetwork access denied: method DELETE to .*\n(.|\n)*$/,
    )
    assert.deepEqual(requests, [])
  })

  test('programs of a session trust the authority of their network', async () => {
    const sandbox = await sandboxes.open('ses_program', {
      ...{ id: 'ses_program', owner_id: 'user-1', agent_id: 'agt_one', environment: {}, config: { network } },
    })
    const place = await sandbox.programPlace('sandbox')
    const program = await place.start({ command: `exec curl -sS ${read.url}/p -w done`, env: {}, readable: [] })
    const chunks: Buffer[] = []
    program.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    assert.deepEqual(await program.exited, { code: 0 }, program.errors())
    assert.equal(Buffer.concat(chunks).toString(), 'done')
  })
}
