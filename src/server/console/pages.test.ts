import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { buildConsole } from '../../../scripts/console-build.ts'
import { makeWebFolder, type WebFolder } from '../../../test/support/console/web-folder.ts'
import { createServer } from '../http/server.ts'
import { createLog } from '../platform/log.ts'
import { type BuildStatus, readBuildStatus } from './build-status.ts'
import { createBuilds } from './builds.ts'
import { serveConsole, serveWithoutConsole } from './pages.ts'

const source = `start();\n${'// A script of the console.\n'.repeat(100)}`
const nowMs = () => 1_000_000

function serverOf(web: WebFolder, status: () => Promise<BuildStatus> = () => readBuildStatus(web.path)) {
  const app = createServer({
    authenticate: async () => {
      throw new Error('public routes do not authenticate')
    },
    log: createLog('silent'),
  })
  serveConsole(app, { builds: createBuilds(join(web.path, 'dist')), status, nowMs })
  return app
}

const web = makeWebFolder(source)
buildConsole(web.path)
const app = serverOf(web)
const get = (url: string, headers: Record<string, string> = {}) => app.inject({ method: 'GET', url, headers })

const scriptOf = (page: string) => /\/console\/assets\/[^"]+\.js/.exec(page)?.[0] ?? ''
const script = scriptOf((await get('/')).body)

test('the page is served at /, /console and every address of a page, and is not cached', async () => {
  for (const url of ['/', '/console', '/console/', '/console/sessions/ses_1?tab=files', '/console/models/gpt-5.5']) {
    const { statusCode, headers, body } = await get(url)
    assert.equal(statusCode, 200, url)
    assert.equal(headers['content-type'], 'text/html; charset=utf-8', url)
    assert.equal(headers['cache-control'], 'no-store', url)
    assert.match(body, /<div id="root">/, url)
  }
})

test('S44: each load has its own nonce, in every place of the page and in the policy', async () => {
  const [first, second] = [await get('/'), await get('/')]
  const noncesOf = (text: string) => [...text.matchAll(/nonce="([^"]+)"/g)].map(([, nonce]) => nonce)
  const [nonce, again] = noncesOf(first.body)
  assert.equal(nonce, again)
  assert.match(nonce ?? '', /^[\w+/]{24}$/)
  assert.notEqual(nonce, noncesOf(second.body)[0])
  assert.ok(!first.body.includes('%NONCE%'))
  assert.ok(String(first.headers['content-security-policy']).includes(`style-src 'self' 'nonce-${nonce}'`))
})

test('S44: the policy allows nothing but the files and the API of this service', async () => {
  const { headers } = await get('/console/agents')
  const policy = String(headers['content-security-policy']).replace(/nonce-[^']+/, 'nonce')
  assert.deepEqual(policy.split('; '), [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'nonce'",
    "font-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "object-src 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types default preview',
  ])
  assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
  assert.equal(headers['referrer-policy'], 'no-referrer')
  assert.equal(headers['x-content-type-options'], 'nosniff')
})

test('assets are immutable and typed; files without a digest in their name are checked with every load', async () => {
  const asset = await get(script)
  assert.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.equal(asset.headers['content-type'], 'text/javascript; charset=utf-8')
  assert.equal(asset.headers['x-content-type-options'], 'nosniff')
  assert.equal(asset.body, source)
  assert.equal((await get('/console/assets/inter-1.woff2')).headers['content-type'], 'font/woff2')
  assert.equal((await get('/console/icon.svg')).headers['content-type'], 'image/svg+xml')
  const theme = await get('/console/theme.js')
  assert.equal(theme.headers['cache-control'], 'no-cache')
  const unchanged = await get('/console/theme.js', { 'if-none-match': `"other", W/${theme.headers.etag}` })
  assert.deepEqual([unchanged.statusCode, unchanged.body], [304, ''])
  assert.equal(unchanged.headers.etag, theme.headers.etag)
  assert.equal((await get('/console/theme.js', { 'if-none-match': '"other"' })).statusCode, 200)
})

test('texts are compressed as the client accepts, each form with its own tag', async () => {
  const cases = [
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, *', 'gzip', gunzipSync],
    ['identity', undefined, (body: Buffer) => body],
    ['br;q=0, gzip;q=0', undefined, (body: Buffer) => body],
    ['', undefined, (body: Buffer) => body],
  ] as const
  const tags = new Set<unknown>()
  for (const [accepted, encoding, decode] of cases) {
    const { headers, rawPayload } = await get(script, { 'accept-encoding': accepted })
    assert.equal(headers['content-encoding'], encoding, accepted)
    assert.equal(headers['vary'], 'accept-encoding')
    assert.equal(headers['content-length'], String(rawPayload.length))
    assert.equal(decode(rawPayload).toString(), source)
    tags.add(headers.etag)
  }
  assert.equal(tags.size, 3)
  const font = await get('/console/assets/inter-1.woff2', { 'accept-encoding': 'br' })
  assert.deepEqual([font.headers['content-encoding'], font.headers['vary']], [undefined, undefined])
})

test('HEAD answers with the headers of GET and without a body', async () => {
  for (const url of ['/', '/console', '/console/agents', script, '/console/theme.js']) {
    const { statusCode, headers, rawPayload } = await app.inject({ method: 'HEAD', url })
    assert.deepEqual([statusCode, rawPayload.length], [200, 0], url)
    assert.equal(headers['content-type'], (await get(url)).headers['content-type'], url)
  }
})

test('only files of the build are served: other paths are 404 below assets/, and the page elsewhere', async () => {
  web.write('dist/assets/secret.js', 'not in the list')
  for (const path of [
    'nothing.js',
    'secret.js',
    '..%2f..%2fpackage.json',
    '%2e%2e/%2e%2e/package.json',
    `${script.split('/').at(-1)}.br`,
    '..\\..\\package.json',
  ]) {
    const { statusCode, headers, body } = await get(`/console/assets/${path}`)
    assert.equal(statusCode, 404, path)
    assert.ok(!body.includes('"type":"module"') && !body.includes('not in the list'), path)
    assert.doesNotMatch(String(headers['cache-control']), /immutable/)
  }
  for (const path of [
    'build.json',
    '.vite/manifest.json',
    'index.html',
    '..%2fpackage.json',
    '%2e%2e%2fpackage.json',
  ]) {
    assert.match((await get(`/console/${path}`)).body, /<div id="root">/, path)
  }
})

test('a new build replaces the one in memory with the next page, and files of open pages stay', async () => {
  const folder = makeWebFolder('one();\n')
  buildConsole(folder.path)
  const server = serverOf(folder)
  const pageText = async () => (await server.inject('/')).body
  const first = scriptOf(await pageText())
  folder.write('src/main.tsx', 'two();\n')
  buildConsole(folder.path)
  const other = serverOf(folder)
  const second = scriptOf((await other.inject('/')).body)
  assert.notEqual(first, second)
  // Another process has served the page.
  assert.equal((await server.inject(second)).body, 'two();\n')
  assert.equal(scriptOf(await pageText()), second)
  assert.equal((await server.inject(first)).body, 'one();\n')
  assert.equal((await other.inject(first)).statusCode, 404)
})

test('a build that is incomplete or mixed with another one is not served', async () => {
  const folder = makeWebFolder('one();\n')
  buildConsole(folder.path)
  const server = serverOf(folder)
  const page = (await server.inject('/')).body
  folder.write('dist/theme.js', 'of another build')
  folder.write(
    'dist/build.json',
    JSON.stringify({ sources: '', files: [{ path: 'theme.js', digest: '', encodings: [] }] }),
  )
  assert.equal(scriptOf((await server.inject('/')).body), scriptOf(page))
  assert.match((await serverOf(folder).inject('/')).body, /Building the console/)
})

test('without a build the page shows its step and the time so far, and loads itself again', async () => {
  const folder = makeWebFolder()
  const cases: readonly (readonly [BuildStatus, RegExp])[] = [
    [{ step: 'waiting' }, /The build starts in a moment\. This/],
    [{ step: 'installing', startedAtMs: nowMs() - 12_300 }, /Step 1 of 2: installing packages\. 12 s so far/],
    [{ step: 'building', startedAtMs: nowMs() - 60_000 }, /Step 2 of 2: building\. 60 s so far/],
  ]
  for (const [status, text] of cases) {
    const { statusCode, headers, body } = await serverOf(folder, async () => status).inject('/console/agents')
    assert.equal(statusCode, 200)
    assert.equal(headers['cache-control'], 'no-store')
    assert.match(body, text)
    assert.match(body, /<meta http-equiv="refresh" content="2">/)
    assert.match(body, /href="\/docs"/)
    assert.ok(!body.includes('<script'))
    assert.ok(String(headers['content-security-policy']).includes(styleDigest(body)))
  }
})

const styleDigest = (page: string): string =>
  createHash('sha256')
    .update(/<style>(.*)<\/style>/.exec(page)?.[1] ?? '')
    .digest('base64')

test('a failed build names cause and next step, and their markup stays text', async () => {
  const status = { step: 'failed', reason: '<b>no npm</b>', next: 'install npm' } as const
  const { body } = await serverOf(makeWebFolder(), async () => status).inject('/')
  assert.match(body, /Cause: &lt;b&gt;no npm&lt;\/b&gt;\./)
  assert.match(body, /What to do: install npm\./)
  assert.doesNotMatch(body, /http-equiv/)
  assert.match(body, /href="\/docs"/)
})

test('a package without the console and its sources is reported', async () => {
  const folder = makeWebFolder()
  folder.remove('package.json')
  assert.match((await serverOf(folder).inject('/')).body, /neither the console nor its sources/)
})

test('without the console every address redirects to the API reference', async () => {
  const server = createServer({
    authenticate: async () => Promise.reject(new Error('unused')),
    log: createLog('silent'),
  })
  serveWithoutConsole(server)
  for (const url of ['/', '/console', '/console/agents', '/console/assets/index-1.js']) {
    const { statusCode, headers } = await server.inject(url)
    assert.deepEqual([statusCode, headers.location], [302, '/docs'], url)
  }
})
