import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileResponseHeaders, forwardedQuery, nativeHeaders, nativeResponseHeaders, relayedHeaders } from './headers.ts'

const given = {
  'content-type': 'application/jsonl',
  'content-length': '10',
  'content-disposition': 'attachment; filename="a.jsonl"',
  'content-range': 'bytes 0-9/20',
  'accept-ranges': 'bytes',
  etag: '"abc"',
  'last-modified': 'Mon, 23 Nov 2026 00:00:00 GMT',
  location: '/v1/files/file_1',
  'content-location': '/v1/files/file_1',
  'x-amzn-errortype': 'ValidationException',
  'x-amzn-requestid': '0e0e-1',
  'x-generation-id': 'gen-1',
  'request-id': 'req_1',
}
const withheld = {
  connection: 'keep-alive',
  'keep-alive': 'timeout=5',
  'transfer-encoding': 'chunked',
  'content-encoding': 'identity',
  upgrade: 'h2c',
  trailer: 'x',
  'proxy-authenticate': 'Basic',
  'set-cookie': 'a=b',
  'cache-control': 'public, max-age=60',
  expires: 'never',
  age: '5',
  date: 'now',
  server: 'provider',
  link: '<https://upstream.test/next>; rel="next"',
  'openai-organization': 'org-operator',
  'x-switchyard-request-id': 'forged',
  'x-goog-upload-url': 'https://upstream.test/upload?upload_id=1',
  'access-control-allow-origin': '*',
  'strict-transport-security': 'max-age=1',
}
const namesOf = (more: RegExp | undefined, secret = '-') =>
  Object.keys(
    relayedHeaders({ ...given, ...withheld }, { containsSecret: value => value.includes(secret), more }),
  ).sort()

test('a response of a provider’s own API keeps descriptive headers and loses those of connection, account and caches', () => {
  const { 'x-generation-id': _, ...native } = given
  assert.deepEqual(namesOf(nativeResponseHeaders, 'nowhere'), Object.keys(native).sort())
})

test('the response of an endpoint keeps the headers of its file', () => {
  const names = ['content-disposition', 'content-type', 'etag', 'last-modified', 'request-id', 'x-generation-id']
  assert.deepEqual(namesOf(fileResponseHeaders, 'nowhere'), names)
  assert.deepEqual(namesOf(undefined, 'nowhere'), ['content-type', 'request-id'])
})

test('a header that holds a credential is dropped', () => {
  assert.ok(!namesOf(nativeResponseHeaders, 'a.jsonl').includes('content-disposition'))
})

test('a request to a provider’s own API forwards conditions and ranges', () => {
  const conditions = { range: 'bytes=0-9', 'if-none-match': '"abc"', 'if-range': '"abc"', 'if-modified-since': 'x' }
  const sent = nativeHeaders({
    headers: { ...conditions, cookie: 'a=b', authorization: 'Bearer k', te: 'trailers', 'x-forwarded-for': '1' },
  })
  const { 'accept-encoding': encoding, 'user-agent': agent, ...others } = sent
  assert.deepEqual(others, conditions)
  assert.ok(encoding === 'identity' && agent)
})

test('a key in the query stays here in any spelling of its name, and the other parameters keep their bytes', () => {
  for (const key of ['key=k', 'KEY=k', '%6bey=k', 'k%65y=k', 'ticket=t', 'key', '%54icket=t']) {
    assert.equal(forwardedQuery(`?${key}`), '', key)
    assert.equal(forwardedQuery(`?beta=true&${key}&a=%7e+b`), '?beta=true&a=%7e+b', key)
  }
  for (const query of ['', '?', '?beta=true', '?monkey=1&a=%20&&b', '?keyword=x'])
    assert.equal(forwardedQuery(query), query, query)
})
