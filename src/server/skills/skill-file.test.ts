import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../platform/errors.ts'
import { readSkillFile } from './skill-file.ts'

const read: readonly (readonly [guarantee: string, text: string, expected: object])[] = [
  [
    'name and description come from the front matter, the rest is content',
    '---\nname: pdf\ndescription: Works on PDF files\nlicense: MIT\nmetadata:\n  a: 1\n---\n# PDF\n\nDo it.\n\n',
    { name: 'pdf', description: 'Works on PDF files', content: '# PDF\n\nDo it.' },
  ],
  [
    'a byte order mark, Windows line ends and a missing description are no matter',
    '\uFEFF---\r\nname: "a: b"\r\n---\r\n\r\nOne\r\nTwo\r\n',
    { name: 'a: b', description: null, content: 'One\r\nTwo' },
  ],
  [
    'a description over several lines, and a line --- within the content',
    '---\nname: x\ndescription: >\n  one\n  two\n---\n    indented\n---\nmore',
    { name: 'x', description: 'one two\n', content: '    indented\n---\nmore' },
  ],
]
for (const [guarantee, text, expected] of read) {
  test(guarantee, () => assert.deepEqual(readSkillFile(text), expected))
}

const aliases = `a: &a [x,x,x,x,x,x,x,x,x,x]\n${'bcdefgh'.replaceAll(/./g, (name, at) => `${name}: &${name} [${`*${String.fromCharCode(97 + at)},`.repeat(10)}]\n`)}`
const rejected: readonly (readonly [guarantee: string, text: string, message: RegExp])[] = [
  ['no front matter', '# Only text', /^text must start with front matter/],
  ['front matter without an end', '---\nname: x\n', /^text must start with front matter/],
  ['no name', '---\ndescription: d\n---\nbody', /^text: front matter must have a name/],
  ['a blank name', '---\nname: " "\n---\nbody', /^text: front matter must have a name/],
  ['a name that is not a string', '---\nname: [1]\n---\nbody', /^text: front matter must have a name/],
  ['a description that is not a string', '---\nname: x\ndescription: {}\n---\nbody', /^text: description/],
  ['nothing after the front matter', '---\nname: x\n---\n\n \n', /^text has no instructions/],
  ['invalid YAML', '---\nname: x\n  bad: [\n---\nbody', /^text: front matter is not valid YAML at line \d/],
  ['a name with NUL', '---\nname: "a\\0"\n---\nbody', /^text: name and description must not contain/],
  ['a list', '---\n- a\n---\nbody', /^text: front matter must be a YAML mapping/],
  ['aliases that expand exponentially', `---\nname: x\n${aliases}---\nbody`, /^text: front matter is not valid YAML/],
  [
    'front matter that is too long',
    `---\nname: x\n# ${'x'.repeat(20_001)}\n---\nbody`,
    /^text: front matter must have at most 20000/,
  ],
]
for (const [guarantee, text, message] of rejected) {
  test(`rejected: ${guarantee}`, () => {
    assert.throws(
      () => readSkillFile(text),
      error => error instanceof AppError && error.code === 'invalid_request' && message.test(error.message),
    )
  })
}

test('keys that are nested hundreds of times in other fields are read in time', () => {
  const text = `---\nname: terse\n${'? '.repeat(500)}x\n---\nBe terse.`
  assert.deepEqual(readSkillFile(text), { name: 'terse', description: null, content: 'Be terse.' })
})
