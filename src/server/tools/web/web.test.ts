import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { after, test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { WebSearchSettings } from '../../config/agent-settings.ts'
import { createOutbound, type Lookup } from '../../platform/outbound.ts'
import { quiet } from '../../sandboxes/sandboxes-for-tests.ts'
import { defaultToolLimits } from '../tool.ts'
import { webFetchTool, webSearchTool } from './tools.ts'
import { createWeb } from './web.ts'

type Answer = (response: ServerResponse, request: IncomingMessage & { body: string }) => void

const answers = new Map<string, Answer>()
const asked: { url: string; headers: IncomingMessage['headers']; method: string; body: string }[] = []
const server = createServer((request, response) => {
  let body = ''
  request.on('data', chunk => {
    body += chunk
  })
  request.on('end', () => {
    const { url = '', headers, method = '' } = request
    asked.push({ url, headers, method, body })
    const answer = answers.get(url.split('?')[0] ?? '')
    if (answer) answer(response, Object.assign(request, { body }))
    else response.writeHead(404).end()
  })
})
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
after(() => {
  server.closeAllConnections()
  server.close()
})
const { port } = server.address() as AddressInfo
const origin = `http://127.0.0.1:${port}`

const html: Answer = response => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hi</h1>')
const bytes =
  (content: Buffer | string, headers: Record<string, string>): Answer =>
  response =>
    response.writeHead(200, headers).end(content)
const redirect =
  (location: string, status = 302): Answer =>
  response =>
    response.writeHead(status, { location }).end()

interface Changes {
  readonly allow?: readonly string[]
  readonly lookup?: Lookup
  readonly searchSettings?: WebSearchSettings
  readonly totalMs?: number
}

/** Calls a tool over the guard, which allows the server of this file. */
async function call(name: 'web_fetch' | 'web_search', input: object, changes: Changes = {}, signal?: AbortSignal) {
  const { allow = [`127.0.0.1:${port}`], lookup, searchSettings, totalMs = 20_000 } = changes
  const guard = createOutbound({ allow, ...(lookup && { lookup }) })
  const web = createWeb({ guard: () => guard, searchSettings: () => searchSettings, totalMs })
  const tool = name === 'web_fetch' ? webFetchTool : webSearchTool
  const context = { web, signal: signal ?? new AbortController().signal, limits: defaultToolLimits, log: quiet }
  const { content, is_error } = await tool.run(input, context)
  return { text: content.map(({ text }) => text).join(''), isError: is_error }
}

const fetchPath = (path: string, changes?: Changes) => call('web_fetch', { url: `${origin}${path}` }, changes)

test('web_fetch returns a page as text with its address and title', async () => {
  answers.set('/page', bytes('<title>T</title><h1>Hi</h1><p>Caf\xe9', { 'content-type': 'text/html; charset=utf-8' }))
  const { text, isError } = await fetchPath('/page?q=1')
  assert.equal(text, `[${origin}/page?q=1 (text/html)]\n\n# T\n\n# Hi\n\nCafé`)
  assert.equal(isError, false)
  const { headers } = asked.at(-1) ?? assert.fail()
  assert.equal(headers['user-agent'], 'Switchyard')
  assert.equal(headers.authorization ?? headers.cookie, undefined)
})

test('web_fetch reads other text as it is, in its character set, also compressed', async () => {
  answers.set('/json', bytes('{"a": "<b>"}', { 'content-type': 'application/json' }))
  answers.set('/latin', bytes(Buffer.from('caf\xe9', 'latin1'), { 'content-type': 'text/plain; charset=iso-8859-1' }))
  const meta = Buffer.from('<meta charset="iso-8859-1"><p>caf\xe9', 'latin1')
  answers.set('/meta', bytes(meta, { 'content-type': 'text/html' }))
  answers.set('/odd', bytes('text', { 'content-type': 'text/plain; charset=none-such' }))
  answers.set('/gzip', bytes(gzipSync('packed'), { 'content-type': 'text/plain', 'content-encoding': 'gzip' }))
  answers.set('/br', bytes(brotliCompressSync('packed'), { 'content-type': 'text/plain', 'content-encoding': 'br' }))
  for (const [path, end] of [
    ['/json', '{"a": "<b>"}'],
    ['/latin', 'café'],
    ['/meta', 'café'],
    ['/odd', 'text'],
    ['/gzip', 'packed'],
    ['/br', 'packed'],
  ] as const) {
    assert((await fetchPath(path)).text.endsWith(`\n\n${end}`), path)
  }
})

test('web_fetch encodes an address with other than ASCII characters', async () => {
  answers.set('/k%C3%B6ln', html)
  assert.match((await fetchPath('/köln?ä=1')).text, /k%C3%B6ln\?%C3%A4=1 \(text\/html\)\]\n\n# Hi$/)
})

test('web_fetch rejects other content types, failures and invalid compression', async () => {
  answers.set('/image', bytes('x', { 'content-type': 'image/png' }))
  answers.set('/none', response => response.writeHead(200).end('x'))
  answers.set('/pdf', bytes('%PDF', { 'content-type': 'application/pdf' }))
  answers.set('/broken', bytes('not gzip', { 'content-type': 'text/plain', 'content-encoding': 'gzip' }))
  answers.set('/odd-encoding', bytes('x', { 'content-type': 'text/plain', 'content-encoding': 'zstd' }))
  for (const [path, says] of [
    ['/image', /^content type image\/png is not text/],
    ['/none', /^content type unknown is not text/],
    ['/pdf', /^content type application\/pdf is not text/],
    ['/missing', /^server responded with status 404$/],
    ['/broken', /^response cannot be decompressed$/],
    ['/odd-encoding', /^response has an unknown content-encoding$/],
  ] as const) {
    const { text, isError } = await fetchPath(path)
    assert.match(text, says)
    assert(isError)
  }
})

test('S20, S21: web_fetch reaches no private address, in any spelling, unless outbound.allow lists it', async () => {
  answers.set('/', html)
  const urls = [
    origin,
    `http://localhost:${port}`,
    `http://127.1:${port}`,
    `http://2130706433:${port}`,
    `http://0x7f000001:${port}`,
    `http://[::1]:${port}`,
    `http://[::ffff:127.0.0.1]:${port}`,
    'https://169.254.169.254/latest/meta-data',
    'https://10.0.0.1/',
    'https://metadata.google.internal/',
  ]
  const before = asked.length
  for (const url of urls) {
    const { text, isError } = await call('web_fetch', { url }, { allow: [] })
    assert(isError, url)
    assert.match(text, /not a public address|must start with https/, url)
  }
  for (const url of [
    'file:///etc/passwd',
    'gopher://x',
    'data:text/plain,x',
    'https://a:b@example.com',
    'https://a\\b',
  ])
    assert.match((await call('web_fetch', { url })).text, /^the address/, url)
  assert.match((await call('web_fetch', { url: 'http://example.com/' })).text, /must start with https:\/\//)
  assert.equal(asked.length, before)
})

test('S22: a public name that resolves to loopback is not connected to', async () => {
  const lookup: Lookup = (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }])
  const before = asked.length
  const { text } = await call('web_fetch', { url: `https://rebinding.example.com:${port}/` }, { allow: [], lookup })
  assert.match(text, /^rebinding\.example\.com is not a public address/)
  assert.equal(asked.length, before)
})

test('S24: redirects are followed on the same host only, a limited number of times, and each is checked', async () => {
  answers.set('/start', redirect('/page'))
  answers.set('/loop', redirect('/loop', 301))
  answers.set('/away', redirect('https://other.example.com/x#y'))
  answers.set('/file', redirect('file:///etc/passwd'))
  answers.set('/other-port', redirect('http://127.0.0.1:1/'))
  answers.set('/loopback', redirect(`http://localhost:${port}/page`))
  assert.match((await fetchPath('/start')).text, /# Hi/)
  assert.equal((await fetchPath('/loop')).text, 'more than 5 redirects')
  const away = await fetchPath('/away')
  assert.deepEqual(away, {
    text: 'redirected to another host; to read it, fetch https://other.example.com/x',
    isError: true,
  })
  assert.match((await fetchPath('/file')).text, /^redirect to an address that is not http or https$/)
  assert.match((await fetchPath('/other-port')).text, /^127\.0\.0\.1:1 is not a public address/)
  assert.match((await fetchPath('/loopback')).text, /^redirected to another host/)
})

test('a body over 10 MB is not read to its end, whatever its content-length says', async () => {
  let sent = 0
  const endless: Answer = response => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    const write = () => {
      if (response.destroyed || sent > 50_000_000) return
      sent += 65_536
      response.write(Buffer.alloc(65_536, 'x'), write)
    }
    write()
  }
  answers.set('/endless', endless)
  answers.set('/stated', response => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '50000000' })
    response.flushHeaders()
  })
  answers.set(
    '/bomb',
    bytes(gzipSync(Buffer.alloc(50_000_000)), { 'content-type': 'text/plain', 'content-encoding': 'gzip' }),
  )
  for (const path of ['/endless', '/stated', '/bomb']) {
    assert.equal((await fetchPath(path)).text, 'response exceeds 10485760 bytes', path)
  }
  assert(sent < 40_000_000)
})

test('a lying content-length, a broken head and a silent server are errors, not hangs', async () => {
  const replies = new Map([
    ['/short', 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nshort'],
    ['/long', 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nmuch too long'],
    ['/head', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`],
    ['/garbage', 'nonsense\r\n\r\n'],
    ['/silent', ''],
  ])
  const raw = createSocketServer(socket => {
    socket.on('error', () => undefined)
    socket.once('data', data => {
      const path = /^GET (\S+)/.exec(data.toString())?.[1] ?? ''
      const reply = replies.get(path) ?? ''
      if (reply !== '') socket.end(reply)
    })
  })
  await new Promise<void>(resolve => raw.listen(0, '127.0.0.1', resolve))
  after(() => raw.close())
  const { port: rawPort } = raw.address() as AddressInfo
  const changes = { allow: [`127.0.0.1:${rawPort}`], totalMs: 1_000 }
  for (const path of ['/short', '/head', '/garbage', '/silent']) {
    const { text, isError } = await call('web_fetch', { url: `http://127.0.0.1:${rawPort}${path}` }, changes)
    assert(isError, path)
    assert.match(text, /^no (complete )?response/, path)
  }
  const long = await call('web_fetch', { url: `http://127.0.0.1:${rawPort}/long` }, changes)
  assert(long.isError || long.text.endsWith('\n\nmu'), long.text)
})

test('an interrupt ends a fetch at once', async () => {
  const stop = new AbortController()
  answers.set('/waits', () => stop.abort())
  assert.deepEqual(await call('web_fetch', { url: `${origin}/waits` }, {}, stop.signal), {
    text: 'cancelled',
    isError: true,
  })
})

test('a page of markup only is read within its limits', async () => {
  answers.set('/deep', bytes('<div><a href="x">'.repeat(500_000), { 'content-type': 'text/html' }))
  const { text } = await fetchPath('/deep')
  assert.match(text, /\(no text\)\n\n\[the page is longer; its end is not shown\]$/)
})

const key = 'search-key-0123456789'
const searched = (provider: WebSearchSettings['provider']): Changes => ({
  searchSettings: { provider, apiKey: provider === 'searxng' ? undefined : key, apiBase: `${origin}/${provider}` },
})
const item = (snippet: string) => ({
  title: 'A <strong>b</strong>',
  url: 'https://example.com/a',
  [snippet]: `c\n${key}`,
})
const json = (value: unknown): Answer => bytes(JSON.stringify(value), { 'content-type': 'application/json' })

test('web_search asks each provider in its format, and shows its results without the key', async () => {
  answers.set('/brave/res/v1/web/search', json({ web: { results: [item('description')] } }))
  answers.set('/tavily/search', json({ results: [item('content')] }))
  answers.set('/searxng/search', json({ results: [item('content'), { title: 'x', url: 'javascript:y' }] }))
  const input = { query: 'a & b', max_results: 3 }
  const shown = (end: string) => `1. A b\n   https://example.com/a\n   c ${end}`

  assert.equal((await call('web_search', input, searched('brave'))).text, shown('[secret]'))
  const brave = asked.at(-1)
  assert.equal(brave?.url, '/brave/res/v1/web/search?q=a+%26+b&count=3')
  assert.equal(brave?.headers['x-subscription-token'], key)

  assert.equal((await call('web_search', input, searched('tavily'))).text, shown('[secret]'))
  const tavily = asked.at(-1)
  assert.deepEqual(JSON.parse(tavily?.body ?? ''), { query: 'a & b', max_results: 3 })
  assert.equal(tavily?.headers.authorization, `Bearer ${key}`)

  assert.equal((await call('web_search', input, searched('searxng'))).text, shown(key))
  assert.equal(asked.at(-1)?.url, '/searxng/search?q=a+%26+b&format=json')
})

test('web_search reports failures of the provider without its text', async () => {
  const status =
    (code: number): Answer =>
    response =>
      response.writeHead(code).end(`failure with ${key}`)
  const cases: [Answer, RegExp][] = [
    [status(401), /^search provider tavily rejected the configured key \(status 401\)$/],
    [status(429), /^search provider tavily has reached its rate limit; retry later$/],
    [status(500), /^search provider tavily responded with status 500$/],
    [redirect('/elsewhere'), /^search provider tavily responded with status 302$/],
    [bytes(key, {}), /^search provider tavily did not return a JSON object$/],
    [json({ results: [] }), /^no results$/],
    [json({ results: 'x' }), /^no results$/],
    [
      json(Array.from({ length: 200_000 }, () => 'xxxxxxxx')),
      /^search provider tavily: response exceeds 1048576 bytes$/,
    ],
  ]
  for (const [answer, says] of cases) {
    answers.set('/tavily/search', answer)
    assert.match((await call('web_search', { query: 'x' }, searched('tavily'))).text, says)
  }
  assert.match((await call('web_search', { query: 'x' })).text, /^no search provider is configured$/)
  const blocked = await call('web_search', { query: 'x' }, { ...searched('tavily'), allow: [] })
  assert.match(blocked.text, /^search provider tavily: 127\.0\.0\.1:\d+ is not a public address/)
  assert.match((await call('web_search', { query: ' ' })).text, /query must match pattern/)
})
