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
const refused: readonly (readonly [guarantee: string, text: string, message: RegExp])[] = [
  ['no front matter', '# Only text', /^text must begin with front matter/],
  ['front matter without an end', '---\nname: x\n', /^text must begin with front matter/],
  ['no name', '---\ndescription: d\n---\nbody', /^text: name must be there/],
  ['a blank name', '---\nname: " "\n---\nbody', /^text: name must be there/],
  ['a name that is no text', '---\nname: [1]\n---\nbody', /^text: name must be there/],
  ['a description that is no text', '---\nname: x\ndescription: {}\n---\nbody', /^text: description/],
  ['nothing after the front matter', '---\nname: x\n---\n\n \n', /^text has no instructions/],
  ['YAML that is none', '---\nname: x\n  bad: [\n---\nbody', /^text: the front matter is not YAML in line \d/],
  ['a name with NUL', '---\nname: "a\\0"\n---\nbody', /^text: name and description must not hold/],
  ['a list', '---\n- a\n---\nbody', /^text: the front matter must be names/],
  ['aliases that blow up', `---\nname: x\n${aliases}---\nbody`, /^text: the front matter is not YAML/],
  ['too much of it', `---\nname: x\n# ${'x'.repeat(20_001)}\n---\nbody`, /^text has more than 20000/],
]
for (const [guarantee, text, message] of refused) {
  test(`refused: ${guarantee}`, () => {
    assert.throws(
      () => readSkillFile(text),
      error => error instanceof AppError && error.code === 'invalid_request' && message.test(error.message),
    )
  })
}
