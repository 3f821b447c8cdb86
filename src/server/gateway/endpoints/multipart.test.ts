import assert from 'node:assert/strict'
import { test } from 'node:test'
import { boundaryOf } from '../../platform/form-data.ts'
import { partsOf, withField } from './multipart.ts'

const form = (...parts: readonly string[]) =>
  Buffer.from(`${parts.map(part => `--x\r\nContent-Disposition: form-data; ${part}\r\n`).join('')}--x--\r\n`)
const body = form(
  'name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n--x not a boundary\0\xff\r\n--xy\r\n--',
  'name="model"\r\n\r\nwhisper-1',
  'name=empty\r\n\r\n',
)

test('the boundary is read from the content type, quoted or plain', () => {
  assert.equal(boundaryOf('multipart/form-data; boundary=x'), 'x')
  assert.equal(boundaryOf('Multipart/Form-Data; charset=utf-8; boundary="a b"'), 'a b')
  assert.equal(boundaryOf('application/json'), undefined)
  assert.equal(boundaryOf('multipart/form-data'), undefined)
  assert.equal(boundaryOf(undefined), undefined)
})

test('parts are found for any bytes in a file', () => {
  const parts = partsOf(body, 'x')
  assert.deepEqual(
    parts.map(({ name, isFile, start, end }) => [name, isFile, body.toString('utf8', start, end)]),
    [
      ['file', true, '--x not a boundary\0\xff\r\n--xy\r\n--'],
      ['model', false, 'whisper-1'],
      ['empty', false, ''],
    ],
  )
  const preamble = Buffer.concat([Buffer.from('to be ignored\r\n'), body])
  assert.equal(partsOf(preamble, 'x').length, 3)
})

test('a field is replaced, or added first, and every other byte stays', () => {
  const part = partsOf(body, 'x')[1]
  const replaced = Buffer.concat(withField(body, { boundary: 'x', name: 'model', value: 'mine', part }))
  assert.equal(replaced.toString('latin1'), body.toString('latin1').replace('whisper-1', 'mine'))
  const added = Buffer.concat(withField(body, { boundary: 'x', name: 'model', value: 'mine', part: undefined }))
  assert.deepEqual(
    partsOf(added, 'x').map(({ name }) => name),
    ['model', 'file', 'model', 'empty'],
  )
})

const wrong: readonly (readonly [what: string, body: Buffer, message: RegExp])[] = [
  ['a body without the boundary', Buffer.from('hello'), /does not contain the boundary/],
  ['a body that ends within a part', body.subarray(0, 90), /truncated/],
  ['a body without its closing boundary', body.subarray(0, -8), /truncated/],
  ['a part without a name', form('filename="a"\r\n\r\nx'), /has no name/],
  ['too many parts', form(...Array.from({ length: 101 }, () => 'name="a"\r\n\r\nx')), /more than 100 parts/],
]
for (const [what, bytes, message] of wrong)
  test(`a form is rejected: ${what}`, () => assert.throws(() => partsOf(bytes, 'x'), message))
