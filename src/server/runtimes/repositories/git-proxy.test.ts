import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type GitRequest, startGitServer } from '../../../../test/support/repositories/git-server.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { createOutbound } from '../../platform/outbound.ts'
import { gitAddressOf } from './git-address.ts'
import { createGitProxy, type GitGrant } from './git-proxy.ts'
import { createPackCache } from './pack-cache.ts'

const authorization = `Basic ${Buffer.from('git:token-0123456789').toString('base64')}`
const upstream = await startGitServer({ accepts: [authorization] })
const first = await upstream.create('acme/shop.git', { 'README.md': 'shop\n' })
await upstream.create('acme/lib.git', { 'lib.txt': 'lib\n' })
await upstream.create('acme/other.git', { 'secret.txt': 'other\n' })

const folder = await mkdtemp(join(tmpdir(), 'switchyard-proxy-'))
const cacheFolder = join(folder, 'cache')
const cache = createPackCache({ folder: cacheFolder, maxBytes: 1_000_000, maxEntryBytes: 500_000 })
const logged: unknown[] = []
const proxy = createGitProxy({
  guard: () => createOutbound({ allow: [upstream.host] }),
  cache,
  log: { warn: (...given: unknown[]) => void logged.push(given) },
  maxPackBytes: 200_000,
})
const server = createServer((request, response) => proxy.handle(request, response, 'ses_1'))
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
const proxyUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
after(async () => {
  server.closeAllConnections()
  server.close()
  await rm(folder, { recursive: true, force: true })
})

function grantOf(changes: Partial<GitGrant> = {}): GitGrant {
  const address = gitAddressOf(`${upstream.url}/acme/shop.git`)
  assert.ok(typeof address === 'object')
  return {
    ownerId: 'ada',
    address,
    credential: { name: 'git.host', secret: { value: 'token-0123456789', authorization, token: 'token-0123456789' } },
    branch: 'switchyard/ses_1',
    submodules: new Set(['/acme/lib']),
    problem: undefined,
    pushes: 0,
    ...changes,
  }
}

/** Runs git as a sandbox would, and returns its exit code and output. */
function git(cwd: string, ...args: string[]): Promise<{ code: number; output: string }> {
  const env = { PATH: process.env['PATH'], HOME: folder, GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_NOSYSTEM: '1' }
  const identity = ['-c', 'user.name=A', '-c', 'user.email=a@localhost']
  return new Promise(resolve => {
    execFile('git', [...identity, ...args], { cwd, env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
    )
  })
}

async function clone(name: string, path = 'acme/shop.git'): Promise<string> {
  const { code, output } = await git(folder, 'clone', '-q', '--depth', '1', `${proxyUrl}/${path}`, name)
  assert.equal(code, 0, output)
  return join(folder, name)
}

const packsFetched = (requests: readonly GitRequest[]) =>
  requests.filter(({ method, url }) => method === 'POST' && url.endsWith('git-upload-pack')).length

test('S59: without a grant git gets nothing; with one it clones, and the credential is added outside', async () => {
  const denied = await git(folder, 'ls-remote', `${proxyUrl}/acme/shop.git`)
  assert.match(denied.output, /this session has no repository, or no prompt is running/)
  const revoke = proxy.grant('ses_1', grantOf())
  const copy = await clone('one')
  assert.equal(await readFile(join(copy, 'README.md'), 'utf8'), 'shop\n')
  assert.ok(upstream.requests.every(request => request.authorization === authorization))
  const config = await readFile(join(copy, '.git', 'config'), 'utf8')
  assert.doesNotMatch(config, /token-0123456789/)
  revoke()
})

test('a second clone of the same commit comes from the cache, for the same owner and credential only', async () => {
  const grants = [
    [grantOf(), 1],
    [grantOf({ ownerId: 'bob' }), 2],
  ] as const
  for (const [grant, packs] of grants) {
    const revoke = proxy.grant('ses_1', grant)
    const before = packsFetched(upstream.requests)
    const copy = await clone(`cached-${grant.ownerId}`)
    assert.equal(await readFile(join(copy, 'README.md'), 'utf8'), 'shop\n')
    assert.equal(packsFetched(upstream.requests) - before, packs, 'the listing of refs always comes from the host')
    revoke()
  }
  assert.equal((await readdir(cacheFolder)).length, 2)
})

test('S59: other repositories, other services and odd paths are denied', async () => {
  const revoke = proxy.grant('ses_1', grantOf())
  const other = await git(folder, 'ls-remote', `${proxyUrl}/acme/other.git`)
  assert.match(other.output, /this session may use its own repository only/)
  assert.equal((await git(folder, 'ls-remote', `${proxyUrl}/acme/lib.git`)).code, 0, 'a submodule may be read')
  const before = upstream.requests.length
  for (const [path, status] of [
    ['/acme/shop.git/HEAD', 404],
    ['/acme/shop.git/objects/info/packs', 404],
    ['/acme/shop.git/info/refs', 404],
    ['/acme/shop.git/info/refs?service=git-upload-archive', 404],
    ['/acme/shop.git/../other.git/info/refs?service=git-upload-pack', 403],
    ['/acme/%6fther.git/info/refs?service=git-upload-pack', 404],
    ['/acme/lib.git/info/refs?service=git-receive-pack', 403],
    ['/api/v1/user', 404],
  ] as const)
    assert.equal((await fetch(`${proxyUrl}${path}`)).status, status, path)
  assert.equal(upstream.requests.length, before, 'none of them reaches the host')
  revoke()
})

test('S59: a push may write to the branch of the session only', async () => {
  const grant = grantOf()
  const revoke = proxy.grant('ses_1', grant)
  const copy = await clone('pushing')
  await writeFile(join(copy, 'README.md'), 'shop, changed\n')
  assert.equal((await git(copy, 'commit', '-q', '-a', '-m', 'change')).code, 0)
  for (const target of ['HEAD:main', '+HEAD:main', 'HEAD:refs/tags/v1', 'HEAD:switchyard/ses_2']) {
    const { code, output } = await git(copy, 'push', 'origin', target)
    assert.notEqual(code, 0)
    assert.match(output, /remote rejected.*this session may push to switchyard\/ses_1 only/, output)
  }
  assert.equal(grant.pushes, 0)
  const pushed = await git(copy, 'push', 'origin', 'HEAD:switchyard/ses_1')
  assert.equal(pushed.code, 0, pushed.output)
  assert.equal(grant.pushes, 1)
  const gone = await git(copy, 'push', 'origin', ':switchyard/ses_1')
  assert.match(gone.output, /this session may not delete branches/)
  const branches = await upstream.git('acme/shop.git', 'for-each-ref', '--format=%(refname)')
  assert.deepEqual(branches.split('\n'), ['refs/heads/main', 'refs/heads/switchyard/ses_1'])
  assert.equal(await upstream.git('acme/shop.git', 'rev-parse', 'main'), first)
  revoke()
})

test('problems of the host are explained without its text, which may repeat the credential', async () => {
  const wrong = {
    name: 'git.host',
    secret: { value: 'wrong-token', authorization: 'Basic d3Jvbmc=', token: 'wrong-token' },
  }
  const cases: [GitGrant, RegExp][] = [
    [grantOf({ credential: wrong }), /rejected the credential of vault entry git\.host \(HTTP 401\)/],
    [
      grantOf({ credential: { name: 'git.host', secret: undefined } }),
      /requires a credential \(HTTP 401\): store a token/,
    ],
    [grantOf({ address: { ...grantOf().address, path: '/acme/none.git' } }), /no such repository, or the credential/],
    [grantOf({ address: { origin: 'http://10.0.0.1', host: '10.0.0.1', path: '/acme/shop.git' } }), /outbound\.allow/],
  ]
  for (const [grant, expected] of cases) {
    const revoke = proxy.grant('ses_1', grant)
    const { code, output } = await git(folder, 'ls-remote', `${proxyUrl}${grant.address.path}`)
    assert.notEqual(code, 0)
    assert.match(output, expected)
    assert.match(grant.problem ?? '', expected)
    assert.doesNotMatch(output, /d3Jvbmc|wrong-token/)
    revoke()
  }
  upstream.intercept((_request, response) => {
    response.writeHead(301, { location: `${upstream.url}/acme/store.git/info/refs` }).end()
    return true
  })
  const revoke = proxy.grant('ses_1', grantOf())
  const moved = await git(folder, 'ls-remote', `${proxyUrl}/acme/shop.git`)
  assert.match(moved.output, /has moved the repository to the path \/acme\/store\.git; use its new URL/)
  upstream.intercept(() => false)
  revoke()
})

test('a fetch or push beyond the limit is aborted and leaves nothing in the cache', async () => {
  await upstream.create('acme/huge.git', { 'huge.txt': randomBytes(400_000).toString('base64') })
  const grant = grantOf({ address: { ...grantOf().address, path: '/acme/huge.git' } })
  let revoke = proxy.grant('ses_1', grant)
  const before = await readdir(cacheFolder)
  const { code } = await git(folder, 'clone', '-q', '--depth', '1', `${proxyUrl}/acme/huge.git`, 'huge')
  assert.notEqual(code, 0)
  assert.match(grant.problem ?? '', /the transfer exceeds 0 MiB/)
  // The incomplete entry is deleted after the response has ended.
  await eventually(async () => !(await readdir(cacheFolder)).some(name => name.endsWith('.draft')))
  assert.deepEqual(await readdir(cacheFolder), before)
  revoke()

  const pushing = grantOf()
  revoke = proxy.grant('ses_1', pushing)
  const copy = await clone('large-push')
  await writeFile(join(copy, 'large.txt'), randomBytes(400_000).toString('base64'))
  await git(copy, 'add', '.')
  await git(copy, 'commit', '-q', '-m', 'large')
  assert.notEqual((await git(copy, 'push', 'origin', 'HEAD:switchyard/ses_1')).code, 0)
  assert.equal(pushing.pushes, 0)
  revoke()
  assert.deepEqual(logged, [])
})
