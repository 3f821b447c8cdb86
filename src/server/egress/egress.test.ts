import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { networkForTests, upstreamForTests } from '../../../test/support/network/network.ts'
import { lack } from '../../../test/support/service/lack.ts'

if (!lack('bubblewrap') && !lack('socat')) {
  const upstream = await upstreamForTests((request, response) => {
    response.writeHead(200, { 'x-seen': `${request.method} ${request.url}`, 'set-cookie': ['a=1', 'b=2'] })
    request.pipe(response)
  })
  const { run, lines, workspacesDir, sandboxes } = await networkForTests({
    names: ['api.example', 'files.example'],
    innerHosts: [
      {
        name: 'git.switchyard.internal',
        isFor: ({ environment, id }) => environment['repository'] !== undefined || id === 'ses_git',
        serve(request, response, { id }) {
          response.end(`${request.method} ${request.url} ${request.headers.host} for ${id}\n`)
        },
      },
    ],
  })
  const limited = (allowed_hosts: unknown[]) => ({ type: 'limited', allowed_hosts })
  const here = limited([{ host: 'api.example', ports: [upstream.port], methods: ['GET', 'PUT'] }])
  const url = `http://api.example:${upstream.port}`

  test('a command reaches an allowed host, over HTTP and through a tunnel, and the log has no path', async () => {
    const plain = await run(here, `curl -sSi -X PUT -H 'connection: x-hop' -H 'x-hop: 1' -d body ${url}/a?b=c`)
    assert.match(plain.output, /^HTTP\/1.1 200 OK/)
    assert.match(plain.output, /x-seen: PUT \/a\?b=c\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n(.|\r\n)*\r\n\r\nbody$/)
    const open = limited([{ host: 'FILES.example', ports: [upstream.port] }])
    const tunnel = await run(open, `curl -sS --proxytunnel -d more http://files.example.:${upstream.port}/secret`)
    assert.deepEqual(tunnel, { output: 'more', exitCode: 0 })
    const [first, second] = lines
    assert.deepEqual(
      [first?.['host'], first?.['method'], first?.['outcome'], first?.['status'], first?.['bytes_received']],
      ['api.example', 'PUT', 'allowed', 200, 4],
    )
    assert.deepEqual(
      [second?.['host'], second?.['method'], second?.['outcome']],
      ['files.example', 'CONNECT', 'allowed'],
    )
    assert.ok(!JSON.stringify(lines).includes('secret'))
    assert.deepEqual(await readdir(join(workspacesDir, 'ses_one.network')), [], 'nothing is left of the sockets')
  })

  test('S35: a host, port or method outside of the list gets a 403 that names the field', async () => {
    const { output } = await run(
      here,
      [
        'curl -sS http://other.example/',
        `curl -sS -X DELETE ${url}/`,
        'curl -sS http://api.example:1/',
        'curl -sS --proxytunnel http://other.example/ || echo $?',
        'curl -sS --noproxy "*" -m 2 http://192.0.2.1/ || echo $?',
      ].join('\n'),
    )
    const [host, method, port, tunnel, , direct] = output.split('\n')
    assert.equal(host, 'network access denied: other.example is not in config.network.allowed_hosts of this agent')
    assert.match(method ?? '', /denied: method DELETE to api\.example is not in/)
    assert.match(port ?? '', /denied: port 1 of api\.example is not in/)
    assert.match(tunnel ?? '', /CONNECT tunnel failed, response 403/)
    assert.match(direct ?? '', /curl: \(7\)|Network is unreachable/)
  })

  test('S35: private addresses stay out of reach in every spelling, also behind a name', async () => {
    const { run: strict } = await networkForTests({
      allowUnrestricted: true,
      lookup: (_name, _options, done) => done(null, [{ address: '10.0.0.1', family: 4 }]),
    })
    const targets = [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '169.254.169.254',
      'named.example',
    ]
    const command = targets.flatMap(host => [
      `curl --noproxy "" -gsS http://${host}/`,
      `curl --noproxy "" -gsS --proxytunnel http://${host}/ 2>&1 | grep -c 403`,
    ])
    const { output } = await strict({ type: 'unrestricted' }, command.join('\n'))
    const answers = output.trim().split('\n')
    assert.equal(answers.length, targets.length * 2, output)
    for (const answer of answers) assert.match(answer, /is not a public address|^1$/)
  })

  test('an inner host is answered by the server, with the session of the socket', async () => {
    const get = 'curl -sS http://git.switchyard.internal/repo?x=1 -H "x-session: ses_other"'
    const own = await run(undefined, get, 'ses_git')
    assert.equal(own.output, 'GET /repo?x=1 git.switchyard.internal for ses_git\n')
    const denied = await run(undefined, `${get}; curl -sS http://other.example/`, 'ses_git')
    assert.match(denied.output, /this agent has no config\.network/)
    const other = await run(here, get)
    assert.match(other.output, /git\.switchyard\.internal is not in config\.network/)
  })

  test('without a network nothing is mounted, and the environment names no proxy', async () => {
    const { output } = await run(undefined, 'ls /run 2>&1; env | grep -ci proxy; echo done')
    assert.match(output, /cannot access '\/run'|^0\n/)
    assert.match(output, /0\ndone\n$/)
  })

  test('a program has the network of its session', async () => {
    const sandbox = await sandboxes.open('ses_program', {
      ...{ id: 'ses_program', owner_id: 'user-1', agent_id: 'agt_one', environment: {} },
      config: { network: here },
    })
    const place = await sandbox.programPlace('sandbox')
    const program = await place.start({ command: `exec curl -sS ${url}/p -X PUT -d x`, env: {}, readable: [] })
    const chunks: Buffer[] = []
    program.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    assert.deepEqual(await program.exited, { code: 0 }, program.errors())
    assert.equal(Buffer.concat(chunks).toString(), 'x')
  })
}
