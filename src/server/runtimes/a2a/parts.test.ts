import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../../platform/json.ts'
import { textAfter, textOfParts } from './parts.ts'

const table: readonly (readonly [string, readonly Json[], string])[] = [
  ['texts continue each other', [{ text: 'One ' }, { text: 'two.' }], 'One two.'],
  [
    'data is JSON on a line of its own',
    [{ text: 'See' }, { data: { a: 1 } }, { text: 'there' }],
    'See\n{"a":1}\nthere',
  ],
  [
    'bytes of a file are counted',
    [{ raw: 'aGVsbG8=', filename: 'a.txt', mediaType: 'text/plain' }],
    '[file a.txt (text/plain, 5 bytes), not stored]',
  ],
  [
    'an address of a file is named',
    [{ url: 'https://a.example/b' }],
    '[file without a name (application/octet-stream): https://a.example/b]',
  ],
  ['a part without content is named', [{}], '[part without content]'],
  ['an empty text is nothing', [{ text: '' }], ''],
]

for (const [guarantee, parts, text] of table) test(guarantee, () => assert.equal(textOfParts(parts), text))

const anyPart: fc.Arbitrary<Json> = fc.oneof(
  fc.record({ text: fc.string() }),
  fc.record({ data: fc.integer() }),
  fc.record({ url: fc.constant('https://a.example/b') }),
)

test('parts that arrive in pieces give the text of all of them', () => {
  fc.assert(
    fc.property(fc.array(anyPart), fc.nat(), (parts, cut) => {
      const at = parts.length === 0 ? 0 : cut % parts.length
      const first = textAfter({ isEmpty: true, isOpen: true }, parts.slice(0, at))
      const rest = textAfter({ isEmpty: first.text === '', isOpen: first.isOpen }, parts.slice(at))
      assert.equal(first.text + rest.text, textOfParts(parts))
    }),
  )
})
