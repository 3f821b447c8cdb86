import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filesIn, withoutFiles } from './files.ts'
import { indented, payloadOf } from './payload.ts'

const files = { each: 'mail.files', data: 'content', name: 'meta.name', media_type: 'meta.type' }
const payload = payloadOf(
  Buffer.from(
    '{"mail": {"id": 12345678901234567890, "files": [{"content": "QUJD", "meta": {"name": "a.txt", "type": "text/plain"}}, {"meta": {}}]}}',
  ),
)

test('files are read from a list of the payload', () => {
  assert.deepEqual(filesIn({ files }, payload.value), [
    {
      field: 'payload.mail.files[0].content',
      name: 'a.txt',
      mediaType: 'text/plain',
      encoding: 'base64',
      content: 'QUJD',
    },
  ])
  assert.deepEqual(filesIn({ files: null }, payload.value), [])
  assert.deepEqual(filesIn({ files }, { mail: {} }), [])
  assert.deepEqual(filesIn({ files }, 'text'), [])
})

test('one file is read from the payload itself', () => {
  const [file] = filesIn({ files: { data: 'body' } }, { body: 'QUJD' })
  assert.deepEqual([file?.field, file?.content, file?.name], ['payload.body', 'QUJD', undefined])
})

test('other values are errors with their path', () => {
  const of = (value: unknown) => () => filesIn({ files }, { mail: { files: value } })
  assert.throws(of('x'), /payload\.mail\.files is not a list \(config\.webhook\.files\.each\)/)
  assert.throws(of([{ content: 7 }]), /payload\.mail\.files\[0\]\.content is not a string/)
  assert.throws(of(Array(21).fill({ content: 'QUJD' })), /has more than 20 files/)
})

test('the text of the message has no content of files, and every number as it was sent', () => {
  const text = indented(withoutFiles(payload, filesIn({ files }, payload.value)))
  assert.ok(text.includes('"id": 12345678901234567890'), text)
  assert.ok(text.includes('"content": "[attached file]"') && !text.includes('QUJD'), text)
})
