import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createNetworkCheck } from './check-network.ts'
import { placeOfAuthority } from './place.ts'
import { networkPolicy, ofAgent } from './policy.ts'

const isAllowed = (network: object, target: string, method?: string, more: object = {}): boolean => {
  const place = placeOfAuthority(target)
  assert(place, target)
  const policy = networkPolicy({ network, ...more }, { allowUnrestricted: false, setting: ofAgent })
  return policy !== undefined && policy.denial({ ...place, method }) === undefined
}

test('a host matches by its whole name, or by a domain for the names below it', () => {
  const network = { type: 'limited', allowed_hosts: ['API.example.com', '*.wild.example', '[2606:4700::1111]'] }
  for (const host of ['api.example.com:443', 'api.example.com:80', 'api.example.com.:443', 'a.b.wild.example:443'])
    assert.ok(isAllowed(network, host), host)
  for (const host of ['[2606:4700::1111]:443', '[2606:4700:0::1111]:443']) assert.ok(isAllowed(network, host), host)
  const others = ['example.com', 'x.api.example.com', 'api.example.com.evil.test', 'notwild.example', 'wild.example']
  for (const host of others) assert.ok(!isAllowed(network, `${host}:443`), host)
  assert.ok(!isAllowed(network, 'api.example.com:22'))
})

test('ports and methods belong to a host, and the widest entry counts', () => {
  const allowed_hosts = [
    { host: 'a.example', ports: [8443], methods: ['get'] },
    { host: 'b.example', methods: ['GET'] },
    'b.example',
  ]
  const network = { type: 'limited', allowed_hosts }
  assert.ok(isAllowed(network, 'a.example:8443', 'GET'))
  assert.ok(!isAllowed(network, 'a.example:8443', 'POST'))
  assert.ok(!isAllowed(network, 'a.example:443', 'GET'))
  assert.ok(isAllowed(network, 'b.example:443', 'POST'))
  assert.ok(isAllowed(network, 'b.example:443'))
  const policy = networkPolicy({ network }, { allowUnrestricted: false, setting: ofAgent })
  assert.ok(policy?.hasIntercepted)
  assert.ok(policy.intercepts({ host: 'a.example', port: 8443 }), 'a tunnel would hide the method')
  assert.ok(!policy.intercepts({ host: 'b.example', port: 443 }))
  assert.equal(
    networkPolicy({ network: { type: 'limited' } }, { allowUnrestricted: true, setting: ofAgent })?.hasIntercepted,
    false,
  )
})

test('a host with a secret is intercepted, also where every host is allowed', () => {
  const secrets = [{ vault_key: 'TOKEN', host: 'A.example', header: 'X-Token' }]
  for (const network of [
    { type: 'limited', allowed_hosts: ['*.example'], secrets },
    { type: 'unrestricted', secrets },
  ]) {
    const policy = networkPolicy({ network }, { allowUnrestricted: true, setting: ofAgent })
    assert.ok(policy?.hasIntercepted)
    assert.ok(policy.intercepts({ host: 'a.example', port: 443 }))
    assert.ok(!policy.intercepts({ host: 'b.example', port: 443 }))
    assert.deepEqual(
      policy.secretsFor('a.example').map(({ header, type }) => [header, type]),
      [['x-token', 'authorization']],
    )
    assert.deepEqual(policy.secretsFor('sub.a.example'), [])
  }
})

test('presets and MCP servers open their hosts, and no others', () => {
  assert.ok(isAllowed({ type: 'limited', presets: ['npm'] }, 'registry.npmjs.org:443'))
  assert.ok(!isAllowed({ type: 'limited', presets: ['npm'] }, 'pypi.org:443'))
  const managers = { type: 'limited', allow_package_managers: true }
  for (const host of ['registry.npmjs.org', 'pypi.org', 'proxy.golang.org', 'deb.debian.org'])
    assert.ok(isAllowed(managers, `${host}:443`), host)
  assert.ok(!isAllowed(managers, 'github.com:443'))
  const servers = { mcp_servers: [{ url: 'https://mcp.example:8443/x' }] }
  assert.ok(isAllowed({ type: 'limited', allow_mcp_servers: true }, 'mcp.example:8443', undefined, servers))
  assert.ok(!isAllowed({ type: 'limited' }, 'mcp.example:8443', undefined, servers))
  assert.ok(!isAllowed({ type: 'none', allowed_hosts: ['a.example'] }, 'a.example:443'))
  assert.ok(!isAllowed({ type: 'unrestricted' }, 'a.example:443'), 'the operator has not allowed it')
})

test('the target of CONNECT is a host and a port', () => {
  for (const text of ['a.example', 'a.example:0', 'a.example:70000', 'u@a.example:443', 'a/b:443', ':443', 'a b:443'])
    assert.equal(placeOfAuthority(text), undefined, text)
  assert.deepEqual(placeOfAuthority('2130706433:80'), { host: '127.0.0.1', port: 80 })
  assert.deepEqual(placeOfAuthority('[::FFFF:7f00:1]:80'), { host: '::ffff:7f00:1', port: 80 })
})

test('a wrong config.network is reported with its field', () => {
  const sandboxes = { hasNetwork: true, detail: 'namespaces' }
  const check = createNetworkCheck({ allowUnrestricted: false, sandboxes })
  const problem = (network: object) => {
    const found = check({ network }, 'sandbox')
    return found && `${found.field} ${found.problem}`
  }
  const limited = (...allowed_hosts: unknown[]) => problem({ type: 'limited', allowed_hosts })
  assert.equal(problem({ type: 'none' }), undefined)
  assert.equal(check({}, 'elsewhere'), undefined)
  assert.equal(limited('a.example', { host: '*.b.example', ports: [1] }, '93.184.216.34'), undefined)
  assert.match(problem({ type: 'none', allowed_hosts: ['a.example'] }) ?? '', /^config\.network\.allowed_hosts needs/)
  assert.match(
    problem({ type: 'limited', hosts: [] }) ?? '',
    /^config\.network\.hosts is unknown; known fields: type, secrets,/,
  )
  assert.match(problem({ type: 'unrestricted' }) ?? '', /^config\.network\.type unrestricted needs limits\.allow_unr/)
  assert.match(
    limited('a.example', { host: 'x', path: '/' }) ?? '',
    /^config\.network\.allowed_hosts\[1\]\.path is unk/,
  )
  for (const host of ['https://a.example', 'a.example:443', 'a.example/x', '*', '*.', 'a..example', 'single'])
    assert.match(limited(host) ?? '', /^config\.network\.allowed_hosts\[0\] must be a host name/, host)
  for (const host of ['127.0.0.1', '[::1]', 'metadata.google.internal', '169.254.169.254', 'db.local'])
    assert.match(limited({ host }) ?? '', /^config\.network\.allowed_hosts\[0\]\.host is not a public/, host)
  const network = { type: 'limited', presets: ['npm'] }
  assert.match(check({ network }, 'elsewhere')?.problem ?? '', /does not work in a sandbox/)
  assert.match(check({ network }, 'server')?.problem ?? '', /isolation none/)
  const without = createNetworkCheck({ allowUnrestricted: true, sandboxes: { hasNetwork: false, detail: 'simulated' } })
  assert.equal(
    without({ network }, 'sandbox')?.problem,
    'needs a sandbox with a network (bubblewrap or docker), but this service uses: simulated',
  )
})

test('a wrong config.network.secrets is reported with its field', () => {
  const check = createNetworkCheck({ allowUnrestricted: true, sandboxes: { hasNetwork: true, detail: '' } })
  const problem = (network: object): string | undefined => {
    const found = check({ network }, 'sandbox')
    return found && `${found.field.replace('config.network.secrets', '')} ${found.problem}`
  }
  const good = { vault_key: 'TOKEN', host: 'api.example', header: 'authorization' }
  const limited = (...secrets: object[]) =>
    problem({ type: 'limited', allowed_hosts: ['api.example', 'b.example'], secrets })
  assert.equal(limited(good, { ...good, header: 'x-token' }, { ...good, host: 'b.example' }), undefined)
  assert.equal(problem({ type: 'unrestricted', secrets: [good] }), undefined)
  assert.equal(problem({ type: 'none', secrets: [good] }), ' needs config.network.type limited or unrestricted')
  const cases: readonly (readonly [string, object])[] = [
    ['[0].value is unknown; known fields: vault_key, host, header, auth_type', { value: 'x' }],
    ['[0].host must be one host name; a secret belongs to one host, without wildcard', { host: '*.example' }],
    ['[0].host must be a host name, not an address', { host: '93.184.216.34' }],
    ['[0].host must be a host name such as', { host: 'api.example:443' }],
    ['[0].host must be a host name such as', { host: 'api.example.' }],
    ['[0].host is not an allowed host; add it to config.network.allowed_hosts', { host: 'api.other' }],
    ['[0].header is not a valid header name', { header: 'x y' }],
    ['[0].header is not a valid header name', { header: 'x:\r\ny' }],
    ['[0].auth_type basic needs the header authorization', { header: 'x-key', auth_type: 'basic' }],
    ...[
      'Host',
      'Connection',
      'Content-Length',
      'transfer-encoding',
      'TE',
      'Upgrade',
      'Proxy-Authorization',
      'Forwarded',
    ].map(
      header =>
        [`[0].header ${header.toLowerCase()} is set by the proxy or by the program itself`, { header }] as const,
    ),
  ]
  for (const [message, change] of cases)
    assert.ok(limited({ ...good, ...change })?.startsWith(message), `${message}: ${limited({ ...good, ...change })}`)
  assert.match(
    limited(good, { ...good, host: 'API.example' }) ?? '',
    /^\[1\]\.header authorization of api\.example is a dup/,
  )
})
