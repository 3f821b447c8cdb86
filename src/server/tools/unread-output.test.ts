import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unreadOutput } from './unread-output.ts'

test('each read returns what arrived since the last one', () => {
  const output = unreadOutput(1000)
  output.add(Buffer.from('one '))
  output.add(Buffer.from('two'))
  assert.equal(output.take(false), 'one two')
  assert.equal(output.take(false), '')
  output.add(Buffer.from('three'))
  assert.equal(output.take(true), 'three')
})

test('a character that arrives in parts is returned once, and whole', () => {
  for (const character of ['é', '€', '😀']) {
    const bytes = Buffer.from(`a${character}`)
    for (let cut = 1; cut < bytes.length; cut++) {
      const output = unreadOutput(1000)
      output.add(bytes.subarray(0, cut))
      const first = output.take(false)
      output.add(bytes.subarray(cut))
      assert.equal(first + output.take(false), `a${character}`)
    }
  }
})

test('bytes that are not UTF-8 do not stay forever, and the end of the output loses none', () => {
  const output = unreadOutput(1000)
  output.add(Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80]))
  assert.equal(output.take(false).length, 5)
  output.add(Buffer.from([0xe2, 0x82]))
  assert.equal(output.take(false), '')
  assert.equal(output.take(true), '\u{fffd}')
})

test('output over the limit keeps head and tail', () => {
  const output = unreadOutput(100)
  for (let at = 0; at < 1000; at++) output.add(Buffer.from(`${at}\n`))
  const text = output.take(true)
  assert.match(text, /^0\n1\n/)
  assert.match(text, /bytes of output dropped/)
  assert.match(text, /\n999\n$/)
  assert(text.length < 200)
})
