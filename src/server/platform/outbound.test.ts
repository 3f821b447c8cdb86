import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { Pool } from 'undici'
import { isPrivateAddress } from './addresses.ts'
import { createOutbound, type Lookup, OutboundBlocked, parseAllow } from './outbound.ts'

const closedUrls = [
  // loopback, in every spelling that some program takes for it
  'http://127.0.0.1/',
  'http://127.1/',
  'http://127.0.1/',
  'http://127.255.255.254/',
  'http://2130706433/',
  'http://017700000001/',
  'http://0x7f000001/',
  'http://0x7f.0.0.1/',
  'http://0177.0.0.1/',
  'http://0x7f.1/',
  'http://127.0.0.1./',
  'http://127.0.0.1:8080/',
  'http://１２７.０.０.１/',
  'http://127。0。0。1/',
  'http://①②⑦.⓪.⓪.①/',
  'http://%31%32%37.0.0.1/',
  'http://localhost/',
  'http://LOCALHOST/',
  'http://localhost./',
  'http://app.localhost/',
  'http://lⓞcalhost/',
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[0000::0001]/',
  'http://[::]/',
  'http://[::127.0.0.1]/',
  // mapped, NAT64, 6to4, Teredo: an IPv4 address inside
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[0:0:0:0:0:ffff:7f00:0001]/',
  'http://[::ffff:169.254.169.254]/',
  'http://[::ffff:8.8.8.8]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b::169.254.169.254]/',
  'http://[64:ff9b:1::10.0.0.1]/',
  'http://[2002:7f00:1::]/',
  'http://[2002:a9fe:a9fe::1]/',
  'http://[2001:0:7f00:1::]/',
  // private and local networks
  'http://0.0.0.0/',
  'http://0/',
  'http://0.1.2.3/',
  'http://10.0.0.1/',
  'http://10.255.255.255/',
  'http://012.0.0.1/',
  'http://0xa.0.0.1/',
  'http://167772161/',
  'http://100.64.0.1/',
  'http://100.127.255.255/',
  'http://169.254.1.1/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.0.1/',
  'http://192.168.1/',
  'http://0300.0250.1.1/',
  'http://192.0.0.1/',
  'http://192.0.2.1/',
  'http://192.88.99.1/',
  'http://198.18.0.1/',
  'http://198.19.255.255/',
  'http://198.51.100.1/',
  'http://203.0.113.1/',
  'http://224.0.0.1/',
  'http://239.255.255.255/',
  'http://240.0.0.1/',
  'http://255.255.255.255/',
  'http://4294967295/',
  'http://[fc00::1]/',
  'http://[fd12:3456:789a::1]/',
  'http://[fe80::1]/',
  'http://[febf::1]/',
  'http://[fec0::1]/',
  'http://[ff02::1]/',
  'http://[100::1]/',
  'http://[2001:db8::1]/',
  'http://[3fff::1]/',
  'http://printer.local/',
  'http://router.home.arpa/',
  'http://db.internal/',
  'http://host.localdomain/',
  // metadata services
  'http://169.254.169.254/latest/meta-data/',
  'http://2852039166/',
  'http://0xa9fea9fe/',
  'http://0xa9.0xfe.0xa9.0xfe/',
  'http://0251.0376.0251.0376/',
  'http://169.254.43518/',
  'http://[fd00:ec2::254]/',
  'http://100.100.100.200/',
  'http://metadata/',
  'http://metadata.google.internal/',
  'http://METADATA.GOOGLE.INTERNAL./',
  'http://metadata.goog/',
  'http://instance-data.ec2.internal/',
  // texts on which parsers disagree, and things that are no plain web address
  'http://example.com\\@127.0.0.1/',
  'http:\\\\127.0.0.1\\',
  'http://127.0.0.1\\@example.com/',
  'http://example.com@127.0.0.1/',
  'http://user@example.com/',
  'http://user:pass@example.com/',
  'http://:pass@example.com/',
  'http://example.com#@127.0.0.1/ ',
  ' http://example.com/',
  'http://exam\tple.com/',
  'http://exam\nple.com/',
  'http://example.com\0.internal/',
  'http://[fe80::1%25eth0]/',
  'http://[::1%25lo]/',
  'http://[::1/',
  'http://1.2.3.4.5/',
  'http://256.256.256.256/',
  'http://1.2.3.999/',
  'http:///path',
  'http://',
  'https://',
  'example.com',
  '//example.com/',
  '',
  'file:///etc/passwd',
  'gopher://example.com/',
  'ftp://example.com/',
  'data:text/plain,hi',
  'javascript:alert(1)',
  'ws://example.com/',
  'unix:/var/run/docker.sock',
  'http+unix://%2Fvar%2Frun%2Fdocker.sock/',
]

const openUrls = [
  'https://api.anthropic.com',
  'https://api.anthropic.com/v1/messages?beta=true',
  'http://example.com:8080/',
  'https://1.1.1.1/',
  'https://8.8.8.8:443/',
  'https://100.128.0.1/',
  'https://172.32.0.1/',
  'https://172.15.255.255/',
  'https://192.169.0.1/',
  'https://[2606:4700:4700::1111]/',
  'https://[2a00:1450:4001::1]/',
  'https://localhost.example.com/',
  'https://127.0.0.1.example.com/',
  'https://xn--bcher-kva.example/',
]

const { judge } = createOutbound({ allow: [] })

test('S20: every spelling of a non-public address is blocked', () => {
  assert.ok(closedUrls.length >= 120, `${closedUrls.length} spellings`)
  const letThrough = closedUrls.filter(url => judge(url) === undefined)
  assert.deepEqual(letThrough, [])
})

test('S20: public addresses and names are allowed', () => {
  assert.deepEqual(
    openUrls.map(url => [url, judge(url)]).filter(([, reason]) => reason !== undefined),
    [],
  )
})

test('S21: an entry of outbound.allow allows exactly one host and port', () => {
  const outbound = createOutbound({ allow: ['127.0.0.1:8080', '[::1]:9000', 'gpu.local:443'] })
  const open = [
    'http://127.0.0.1:8080/x',
    'http://0x7f.1:8080/',
    'https://127.0.0.1:8080/',
    'http://[0:0::1]:9000',
    'https://GPU.local',
  ]
  const closed = [
    'http://127.0.0.1/',
    'http://127.0.0.1:80800/',
    'http://127.0.0.2:8080/',
    'http://localhost:8080/',
    'http://gpu.local/',
  ]
  for (const url of open) assert.equal(outbound.judge(url), undefined, url)
  for (const url of closed) assert.notEqual(outbound.judge(url), undefined, url)
  assert.match(outbound.judge('http://10.0.0.5:1234') ?? '', /add "10\.0\.0\.5:1234" to outbound\.allow/)
})

test('entries of outbound.allow are normalised; invalid ones are reported', () => {
  const wrong: number[] = []
  const given = [
    '127.0.0.1:080',
    'HOST:99',
    '[::1]:5',
    'host',
    'http://host:1',
    'host:0',
    'host:99999',
    'a b:1',
    'x@host:1',
    '::1:5',
  ]
  assert.deepEqual(
    parseAllow(given, index => void wrong.push(index)),
    ['127.0.0.1:80', 'host:99', '[::1]:5'],
  )
  assert.deepEqual(wrong, [3, 4, 5, 6, 7, 8, 9])
})

test('text that is not an address is never public', () => {
  for (const text of ['', 'example.com', '1.2.3', '1.2.3.4.5', '::1%lo', 'fe80::1%eth0'])
    assert.equal(isPrivateAddress(text), true, text)
})

const server = createServer((_request, response) => response.end('reached'))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
after(() => {
  server.closeAllConnections()
  server.close()
})

async function get(url: string, { allow = [], lookup }: { allow?: string[]; lookup?: Lookup } = {}): Promise<string> {
  const outbound = createOutbound({ allow, ...(lookup && { lookup }) })
  const pool = new Pool(new URL(url).origin, { connect: outbound.connect(1_000) })
  try {
    const { body } = await pool.request({ method: 'GET', path: '/' })
    return await body.text()
  } finally {
    await pool.destroy()
  }
}

/** Resolver that returns the next list of addresses for each lookup. */
const answering = (...answers: string[][]): Lookup & { calls: number } => {
  const lookup = Object.assign(
    (_name: string, _options: object, done: (error: null, addresses: LookupAddress[]) => void) => {
      const addresses = answers[Math.min(lookup.calls++, answers.length - 1)] ?? []
      done(
        null,
        addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    },
    { calls: 0 },
  )
  return lookup
}

test('S20: a literal private address is blocked although it is not resolved', async () => {
  await assert.rejects(get(`http://127.0.0.1:${port}`), OutboundBlocked)
  await assert.rejects(get(`http://[::1]:${port}`), OutboundBlocked)
  assert.equal(await get(`http://127.0.0.1:${port}`, { allow: [`127.0.0.1:${port}`] }), 'reached')
})

test('S22: a name that resolves to a private address is blocked in the lookup of the connection', async () => {
  const lookup = answering(['127.0.0.1'])
  await assert.rejects(get(`http://innocent.example:${port}`, { lookup }), OutboundBlocked)
  await assert.rejects(
    get(`http://innocent.example:${port}`, { lookup: answering(['::1', '10.0.0.1']) }),
    OutboundBlocked,
  )
})

test('S22: a name that changes its address never reaches a blocked one, and is resolved once per connection', async () => {
  const lookup = answering(['192.0.2.7', '127.0.0.1'], ['127.0.0.1'])
  for (let at = 0; at < 3; at++) await assert.rejects(get(`http://rebind.example:${port}`, { lookup }), OutboundBlocked)
  assert.equal(lookup.calls, 3)
})

test('an allowed name may resolve to a private address, only on its port', async () => {
  assert.equal(await get(`http://localhost:${port}`, { allow: [`localhost:${port}`] }), 'reached')
  await assert.rejects(get(`http://localhost:${port}`, { allow: ['localhost:1'] }), OutboundBlocked)
})

test('a failed lookup fails the connection', async () => {
  const lookup: Lookup = (_name, _options, done) =>
    done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), [])
  await assert.rejects(get('http://nowhere.example', { lookup }), /no such name/)
})

test('an address is listed by its exact host and port, in any spelling of the same address', () => {
  const { lists } = createOutbound({ allow: ['api.example:80', '10.0.0.5:8080', '[::1]:443'] })
  for (const url of ['http://api.example/v1', 'http://API.example:80', 'http://10.0.0.5:8080', 'https://[::1]/x'])
    assert.equal(lists(url), true, url)
  for (const url of [
    'https://api.example',
    'http://api.example:81',
    'http://10.0.0.5',
    'http://api.example.evil.example',
  ])
    assert.equal(lists(url), false, url)
})
