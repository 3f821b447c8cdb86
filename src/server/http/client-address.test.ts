import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { createAddressOf } from './client-address.ts'

const trusted = ['10.0.0.0/8', '192.0.2.7/32', 'fd00::/8']

const addressOf = (remoteAddress: string | undefined, forwarded?: string, trustProxy: readonly string[] = trusted) =>
  createAddressOf(trustProxy)({
    socket: { remoteAddress } as Socket,
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  })

const cases: [
  name: string,
  connection: string | undefined,
  forwarded: string | undefined,
  expected: string | undefined,
][] = [
  ['no header: the connection', '10.0.0.1', undefined, '10.0.0.1'],
  ['an empty header: the connection', '10.0.0.1', '', '10.0.0.1'],
  ['a connection that is not listed: the connection', '198.51.100.1', '203.0.113.9', '198.51.100.1'],
  ['a connection beside a listed host: the connection', '192.0.2.8', '203.0.113.9', '192.0.2.8'],
  ['a listed proxy: what it saw', '10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['a listed host: what it saw', '192.0.2.7', '203.0.113.9', '203.0.113.9'],
  ['what the client wrote itself does not count', '10.0.0.1', '127.0.0.1, 203.0.113.9', '203.0.113.9'],
  ['proxies in a row are skipped', '10.0.0.1', '198.51.100.4, 203.0.113.9, 10.1.1.1,10.2.2.2', '203.0.113.9'],
  ['a client among the proxies: the first of them', '10.0.0.1', '10.9.9.9, 10.1.1.1', '10.9.9.9'],
  ['text that is no address ends the search', '10.0.0.1', '203.0.113.9, unknown', '10.0.0.1'],
  ['text before a proxy ends the search', '10.0.0.1', 'unknown, 10.1.1.1', '10.1.1.1'],
  ['an empty entry ends the search', '10.0.0.1', '203.0.113.9, ', '10.0.0.1'],
  ['an address with a zone ends the search', '10.0.0.1', 'fe80::1%eth0', '10.0.0.1'],
  ['a loopback address that is not listed ends the search', '10.0.0.1', '127.0.0.1', '10.0.0.1'],
  ['an IPv4 address with a port', '10.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
  ['an IPv6 address in brackets with a port', '10.0.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
  ['an IPv6 proxy', 'fd00::1', '2001:db8::1', '2001:db8::1'],
  ['an IPv6 connection that is not listed', '2001:db8::2', '203.0.113.9', '2001:db8::2'],
  ['a mapped IPv4 proxy', '::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['a mapped IPv4 client', '::ffff:198.51.100.1', undefined, '198.51.100.1'],
  ['a mapped IPv4 hop', '10.0.0.1', '203.0.113.9, ::ffff:10.1.1.1', '203.0.113.9'],
  ['a closed connection', undefined, '203.0.113.9', undefined],
]

for (const [name, connection, forwarded, expected] of cases)
  test(`D8: the client's address: ${name}`, () => assert.equal(addressOf(connection, forwarded), expected))

test("D8: the client's address is that of the connection when no proxy is trusted", () => {
  assert.equal(addressOf('10.0.0.1', '203.0.113.9', []), '10.0.0.1')
  assert.equal(addressOf('127.0.0.1', '203.0.113.9', []), '127.0.0.1')
})
