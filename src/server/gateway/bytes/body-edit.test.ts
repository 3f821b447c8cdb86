import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { editTopLevel } from './body-edit.ts'

const edited = (text: string, edit: Parameters<typeof editTopLevel>[1]): string =>
  editTopLevel(Buffer.from(text), edit).body.toString()

const edits = [
  ['a new member is put first', '{ "a": 1 }', { set: { v: 'x' } }, '{"v":"x", "a": 1 }'],
  ['a new member is added to an empty object', '{ }', { set: { v: [1] } }, '{"v":[1] }'],
  ['a value is replaced in place', '{"a" : {"b":[]} ,"c":1e5}', { set: { a: 2 } }, '{"a" : 2 ,"c":1e5}'],
  ['the first member is removed', '{"model":"x","max_tokens":1.0}', { remove: ['model'] }, '{"max_tokens":1.0}'],
  ['the last member is removed', '{"n":1.0, "stream":true }', { remove: ['stream'] }, '{"n":1.0 }'],
  ['all members are removed', '{ "a":1, "b":2 }', { remove: ['a', 'b'] }, '{  }'],
  ['all members are removed and one is added', '{"a":1,"b":2}', { remove: ['a', 'b'], set: { c: 3 } }, '{"c":3}'],
  ['members at both ends are removed', '{"a":1,"b":2,"c":3,"d":4}', { remove: ['a', 'c', 'd'] }, '{"b":2}'],
  ['a key with escapes is matched', '{"mod\\u0065l":"x","b":2}', { remove: ['model'] }, '{"b":2}'],
  ['a duplicate member is removed twice', '{"a":1,"b":2,"a":3}', { remove: ['a'] }, '{"b":2}'],
  ['a member of a nested object is removed', '{"o":{"a":1,"b":2.0},"b":3}', { remove: ['o.b'] }, '{"o":{"a":1},"b":3}'],
  [
    'a field of every tool is removed',
    '{"tools":[{"name":"a","strict":true},{"strict":false},{"name":"c"}]}',
    { remove: ['tools.strict'] },
    '{"tools":[{"name":"a"},{},{"name":"c"}]}',
  ],
  ['an edit without effect keeps the bytes', ' {"a":1.0}\n', { remove: ['b', 'a.b', 'a.b.c'] }, ' {"a":1.0}\n'],
] as const

for (const [name, text, edit, expected] of edits) {
  test(`R3: ${name}, and all other bytes stay`, () => assert.equal(edited(text, edit), expected))
}

test('removed members are returned with their paths', () => {
  const text = '{"tools":[{"name":"a"},{"strict":1}],"context_management":{}}'
  const { removed } = editTopLevel(Buffer.from(text), { remove: ['context_management', 'tools.strict', 'x'] })
  assert.deepEqual(removed, ['context_management', 'tools.1.strict'])
})

test('arrays nested a million deep do not overflow the stack', () => {
  const text = `{"tools":${'['.repeat(1e6)}${']'.repeat(1e6)},"model":"x"}`
  assert.equal(edited(text, { remove: ['tools.strict', 'model'] }).length, text.length - ',"model":"x"'.length)
})

const key = fc.constantFrom('a', 'b', 'c', 'model', 'st"ream', 'é\\')
const value = fc.jsonValue({ maxDepth: 3 }).map(item => JSON.stringify(item))
const number = fc.constantFrom('1.0', '1e5', '123456789012345678901234567890')
const gap = fc.constantFrom('', ' ', '\n\t')
const member = fc.tuple(key, fc.oneof(value, number), gap)

test('R3: any edit gives the expected object, and other members keep their bytes', () => {
  const property = fc.property(
    fc.uniqueArray(member, { selector: ([name]) => name }),
    fc.uniqueArray(key),
    fc.dictionary(key, fc.jsonValue({ maxDepth: 1 })),
    (members, remove, set) => {
      const texts = members.map(([name, text, blank]) => `${JSON.stringify(name)}${blank}:${blank}${text}`)
      const text = `{${members.map(([, , blank], at) => `${blank}${texts[at]}${blank}`).join(',')}}`
      const result = edited(text, { remove, set })
      const kept = members.filter(([name]) => !remove.includes(name))
      const expected = { ...Object.fromEntries(kept.map(([name, item]) => [name, JSON.parse(item)])), ...set }
      assert.deepEqual(JSON.parse(result), JSON.parse(JSON.stringify(expected)))
      for (const [at, [name]] of members.entries()) {
        const isUntouched = !(remove.includes(name) || Object.hasOwn(set, name))
        if (isUntouched) assert.ok(result.includes(texts[at] ?? ''))
      }
    },
  )
  fc.assert(property, { numRuns: 500 })
})

test('S50: 200,000 members of one name are removed in linear time, at the top and inside', () => {
  const members = Array.from({ length: 200_000 }, () => '"a":1').join()
  const text = `{${members},"b":{${members},"c":2}}`
  assert.equal(edited(text, { remove: ['a', 'b.a'] }), '{"b":{"c":2}}')
})
