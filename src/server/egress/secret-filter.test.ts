import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { secretFilter } from './secret-filter.ts'

/** Returns the data after the filter, sent in parts of this size. */
async function filtered(secrets: readonly string[], data: string, size: number): Promise<string> {
  const bytes = Buffer.from(data)
  const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  )
  const [stream] = secretFilter(secrets).streams()
  return (await buffer(stream ? Readable.from(parts).pipe(stream) : Readable.from(parts))).toString()
}

test('a secret is replaced wherever a body is split, and the length stays', async () => {
  const secrets = ['aab-canary', 'Bearer aab-canary']
  const data = 'x aab-canary aaab-canaryaab-canary aab-canar y Bearer aab-canary ä aab-'
  const expected = data.replaceAll('Bearer aab-canary', '*'.repeat(17)).replaceAll('aab-canary', '*'.repeat(10))
  assert.ok(expected.endsWith(' ä aab-') && expected.includes(' a**********'))
  for (let size = 1; size <= 30; size++) assert.equal(await filtered(secrets, data, size), expected, String(size))
  assert.equal(secretFilter(secrets).text('a Bearer aab-canary'), `a ${'*'.repeat(17)}`)
  assert.equal(await filtered([], data, 7), data)
})

test('data that cannot start a secret does not wait for more', async () => {
  const [stream] = secretFilter(['canary-1']).streams()
  const seen: string[] = []
  stream?.on('data', (chunk: Buffer) => seen.push(chunk.toString()))
  stream?.write('first\ncan')
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(seen, ['first\n'])
  stream?.end('not')
  await new Promise(resolve => stream?.once('end', resolve))
  assert.equal(seen.join(''), 'first\ncannot')
})
