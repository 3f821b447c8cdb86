import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { stripTypeScriptTypes } from 'node:module'
import { test } from 'node:test'
import { copyTexts } from './copy-texts.ts'
import { emptyForm, formats, type PlaygroundForm } from './form.ts'
import { pythonLiteral } from './python-text.ts'
import { bodyOf } from './request.ts'
import { exampleTools } from './tools.ts'

const hostile = 'it\'s\nEND\n$(touch /tmp/x) `id` "quoted" \\ $HOME'
const form: PlaygroundForm = {
  ...emptyForm,
  turns: [{ id: '1', role: 'user', content: [{ type: 'text', text: hostile }] }],
  tools: exampleTools,
  schema: '{"type":"object"}',
}
const address = 'http://gateway.example:4000'

const textsOf = (format: (typeof formats)[number]) =>
  copyTexts({ address, format, body: bodyOf(form, format, 'my-model') })

/** The text of the file that the commands write. */
const program = (text: string): string => /<<'END'\n([\s\S]*?)\nEND(\n|$)/.exec(text)?.[1] ?? ''

for (const format of formats) {
  test(`the commands for ${format} name the service, and have a placeholder for the key`, () => {
    for (const { text } of textsOf(format)) {
      assert.match(text, /^export SWITCHYARD_URL=http:\/\/gateway\.example:4000 SWITCHYARD_KEY=sk-…\n/)
    }
  })

  test(`the shell passes the request of ${format} on byte by byte`, () => {
    const [{ text } = { text: '' }] = textsOf(format)
    const command = text.replace(/curl [\s\S]*?<<'END'/, "cat <<'END'")
    const printed = execFileSync('sh', ['-c', command], { encoding: 'utf8' })
    assert.deepEqual(JSON.parse(printed), bodyOf(form, format, 'my-model'))
  })

  test(`the TypeScript program for ${format} can be parsed`, () => {
    const text = textsOf(format).find(({ language }) => language === 'TypeScript')?.text ?? ''
    assert.match(stripTypeScriptTypes(program(text)), /new (Anthropic|OpenAI)\(/)
  })
}

test('fields that the Python library has no parameter for go into extra_body', () => {
  const text = textsOf('messages').find(({ language }) => language === 'Python')?.text ?? ''
  assert.match(text, /\n {4}extra_body=\{\n {8}"output_config": \{/)
  assert.doesNotMatch(text, /\n {4}output_config=/)
})

test('values of JSON become literals of Python', () => {
  assert.equal(
    pythonLiteral([true, null, 'a"b', {}, 1.5]),
    '[\n    True,\n    None,\n    "a\\"b",\n    {},\n    1.5,\n]',
  )
})
