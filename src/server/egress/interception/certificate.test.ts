import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createAuthority } from './authority.ts'
import { issueCertificate, newKeyPair } from './certificate.ts'
import { identifier, integer, octets, time } from './der.ts'

const folder = mkdtempSync(join(tmpdir(), 'switchyard-test-'))
after(() => rmSync(folder, { recursive: true }))
const fileOf = (name: string, pem: string): string => {
  const path = join(folder, name)
  writeFileSync(path, pem)
  return path
}

const keys = await newKeyPair()
const ownKeys = await newKeyPair()
const issuer = { name: 'Test authority', keys }
const dates = { notBefore: new Date(Date.now() - 1000), notAfter: new Date('2055-01-01T00:00:00Z') }
const authority = issueCertificate(
  { name: issuer.name, publicKey: keys.publicKey, purpose: { type: 'authority' }, ...dates },
  issuer,
)
const leafFor = (host: string) =>
  issueCertificate({ name: 'leaf', publicKey: ownKeys.publicKey, purpose: { type: 'server', host }, ...dates }, issuer)

test('certificates are read by OpenSSL as they were meant', () => {
  const ca = new X509Certificate(authority)
  assert.ok(ca.ca && ca.verify(keys.publicKey))
  const leaf = new X509Certificate(leafFor('api.example.com'))
  assert.ok(!leaf.ca && leaf.checkIssued(ca) && leaf.verify(keys.publicKey) && !leaf.verify(ownKeys.publicKey))
  assert.equal(leaf.checkHost('api.example.com'), 'api.example.com')
  assert.equal(leaf.checkHost('example.com'), undefined)
  assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1'])
  assert.equal(leaf.validTo, 'Jan  1 00:00:00 2055 GMT')
  for (const address of ['93.184.216.34', '2606:4700::1111', '::1', '2606:4700:0:1::'])
    assert.equal(new X509Certificate(leafFor(address)).checkIP(address), address)
})

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

test('openssl verify accepts a chain with its strictest rules, and no other chain', { skip: !hasOpenssl }, async () => {
  const ca = fileOf('ca.pem', authority)
  const verify = (pem: string, ...options: string[]) =>
    spawnSync('openssl', ['verify', '-x509_strict', '-purpose', 'sslserver', ...options, fileOf('leaf.pem', pem)])
  for (const host of ['api.example.com', `${'a'.repeat(60)}.${'b'.repeat(60)}.example.com`])
    assert.equal(verify(leafFor(host), '-CAfile', ca, '-verify_hostname', host).status, 0, host)
  assert.notEqual(verify(leafFor('a.example'), '-CAfile', ca, '-verify_hostname', 'b.example').status, 0)
  assert.notEqual(verify(leafFor('a.example')).status, 0, 'the system does not trust the authority')
  const { certificate } = await createAuthority()
  const foreign = fileOf('foreign.pem', certificate)
  assert.notEqual(verify(leafFor('a.example'), '-CAfile', foreign).status, 0)
  const text = execFileSync('openssl', ['x509', '-in', foreign, '-noout', '-text'], { encoding: 'utf8' })
  assert.match(text, /Basic Constraints: critical\s+CA:TRUE, pathlen:0/)
  assert.match(text, /Key Usage: critical\s+Certificate Sign, CRL Sign/)
})

test('a certificate for a host is cached, and replaced before it ends', async () => {
  let now = Date.now()
  const { contextFor, certificate } = await createAuthority(() => now)
  const first = contextFor('a.example')
  assert.equal(contextFor('a.example'), first)
  assert.notEqual(contextFor('b.example'), first)
  now += 20 * 86_400_000
  assert.notEqual(contextFor('a.example'), first)
  for (let at = 0; at < 100; at++) contextFor(`h${at}.example`)
  assert.notEqual((await createAuthority()).certificate, certificate)
})

test('numbers, times and identifiers have the bytes of the standard', () => {
  const hex = (bytes: Buffer) => bytes.toString('hex')
  assert.equal(hex(integer(Buffer.from([0, 0, 127]))), '02017f')
  assert.equal(hex(integer(Buffer.from([128]))), '02020080')
  assert.equal(hex(integer(Buffer.from([0]))), '020100')
  assert.equal(hex(identifier('1.2.840.10045.4.3.2')), '06082a8648ce3d040302')
  assert.equal(time(new Date('2049-12-31T23:59:59Z')).toString('latin1', 2), '491231235959Z')
  assert.equal(time(new Date('2050-01-01T00:00:00Z')).toString('latin1', 2), '20500101000000Z')
  for (const [length, head] of [
    [127, '047f'],
    [128, '048180'],
    [300, '0482012c'],
  ] as const)
    assert.ok(hex(octets(createHash('sha1').digest(), Buffer.alloc(length - 20))).startsWith(head))
})
