import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { networkForTests } from '../support/network/network.ts'
import { npmRegistry } from '../support/network/npm-registry.ts'
import { tlsForTests } from '../support/network/tls-upstream.ts'
import { startGitServer } from '../support/repositories/git-server.ts'
import { lack } from '../support/service/lack.ts'

if (!lack('bubblewrap') && !lack('socat')) {
  const token = 'tok-of-the-registry-0123456789'
  const pair = 'ada:password-0123456789'
  const basic = `Basic ${Buffer.from(pair).toString('base64')}`
  const tls = await tlsForTests()
  const git = await startGitServer({ accepts: [basic] })
  const openGit = await startGitServer()
  for (const server of [git, openGit]) await server.create('acme/shop.git', { 'README.md': 'the shop\n' })
  const registry = npmRegistry('left-part', 'installed')
  /** Status codes by credential. */
  const guarded = await tls.serve('registry.example', (request, response) => {
    if (request.headers.authorization === `Bearer ${token}`) return registry(request, response)
    response.writeHead(401).end('{}')
  })
  const openRegistry = createServer(registry)
  await new Promise<void>(resolve => openRegistry.listen(0, '127.0.0.1', resolve))
  after(() => {
    openRegistry.closeAllConnections()
    openRegistry.close()
  })
  const { port: plainPort } = openRegistry.address() as AddressInfo
  const code = await tls.serve('code.example', git.serve)
  const openPort = Number(openGit.host.split(':')[1])
  const ports = [guarded.port, plainPort, code.port, openPort]
  const names = ['registry.example', 'plain.example', 'code.example', 'http.example']
  const { run } = await networkForTests({ names, vault: { NPM: token, GIT: pair }, ca: tls.ca })
  const network = {
    type: 'limited',
    allowed_hosts: names.map(host => ({ host, ports, methods: ['GET', 'POST'] })),
    secrets: [
      { vault_key: 'NPM', host: 'registry.example', header: 'authorization', auth_type: 'bearer_token' },
      { vault_key: 'GIT', host: 'code.example', header: 'authorization', auth_type: 'basic' },
    ],
  }

  test('git clones over HTTP, and over HTTPS with a credential that the sandbox does not have', async () => {
    const { output } = await run(
      network,
      [
        `git clone -q http://http.example:${openPort}/acme/shop.git one && cat one/README.md`,
        `git clone -q https://code.example:${code.port}/acme/shop.git two && cat two/README.md`,
        'cd two && git config user.email a@b.example && git config user.name A && echo more >> README.md',
        'git commit -qam more && git push -q origin HEAD:refs/heads/work && echo pushed',
      ].join('\n'),
    )
    assert.equal(output, 'the shop\nthe shop\npushed\n')
    assert.equal(await git.git('acme/shop.git', 'show', 'work:README.md'), 'the shop\nmore')
    assert.ok(git.requests.every(({ authorization }) => authorization === basic))
  })

  test('npm installs over HTTP, and over HTTPS with a credential that the sandbox does not have', async () => {
    const install = (folder: string, url: string) =>
      [
        `mkdir ${folder} && cd ${folder} && echo '{}' > package.json`,
        `npm install left-part --registry ${url} --no-audit --no-fund --fetch-retries 0 --loglevel error > log 2>&1 || cat log`,
        `node -e 'console.log(require("left-part"))'; cd ..`,
      ].join('\n')
    const { output } = await run(
      network,
      `${install('plain', `http://plain.example:${plainPort}`)}\n${install('secure', `https://registry.example:${guarded.port}`)}`,
    )
    assert.equal(output, 'installed\ninstalled\n')
  })

  test('Node, Python and OpenSSL trust the intercepted host by their variables', async () => {
    const script = `
      const tunnel = require('node:http').request({ host: '127.0.0.1', port: 3128, method: 'CONNECT', path: 'registry.example:${guarded.port}' })
      tunnel.on('connect', (_, socket) => {
        const tls = require('node:tls').connect({ socket, servername: 'registry.example' }, () => {
          console.log(tls.authorized, tls.alpnProtocol)
          tls.end()
        })
      }).end()`
    const python = `
import os, urllib.request
request = urllib.request.Request("https://registry.example:${guarded.port}/left-part")
print(urllib.request.urlopen(request).status)`
    const { output } = await run(
      network,
      [
        `node -e "${script.replaceAll('"', '\\"')}"`,
        `if [ -x /usr/bin/python3 ]; then /usr/bin/python3 -c '${python}'; else echo 200; fi`,
        `openssl s_client -proxy 127.0.0.1:3128 -connect registry.example:${guarded.port} </dev/null 2>&1 | grep -m1 "Verify return code"`,
      ].join('\n'),
    )
    assert.equal(output, 'true false\n200\nVerify return code: 0 (ok)\n')
  })
}
