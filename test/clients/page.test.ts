import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { hasOpencode } from '../support/opencode/opencode-program.ts'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import { clientShell } from './shell.ts'

interface Block {
  readonly language: string
  readonly code: string
}

const page = readFileSync(join(import.meta.dirname, '../../docs/clients.md'), 'utf8')
const [preface = '', ...sections] = page.split(/^## /m)
const blocksIn = (text: string): readonly Block[] =>
  [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', code = '']) => ({ language, code }))
const [start] = blocksIn(preface)

const { service } = await startEveryProtocol({
  script: () => ({ text: 'The capital of France is Paris.' }),
  aliases: {
    'anthropic/claude-sonnet-5': 'anthropic-messages',
    'openai/gpt-5.2': 'openai-responses',
    'gemini/gemini-3-pro': 'gemini',
    'bedrock/anthropic.claude-sonnet-5': 'bedrock-converse',
  },
})

/** Runs a block as a reader would: in a shell that has run the first block of the page. */
async function run({ language, code }: Block) {
  const shell = await clientShell()
  if (language === 'js') await writeFile(join(shell.work, 'client.mjs'), code)
  const lines = language === 'js' ? 'node client.mjs' : code
  return shell.run(`${start?.code}\n${lines}`, { SWITCHYARD_URL: service.url, SWITCHYARD_KEY: service.key })
}

test('docs/clients.md begins with a block that sets the address and the key', () => {
  assert.equal(start?.language, 'sh')
})

for (const section of sections) {
  const name = section.slice(0, section.indexOf('\n'))
  const skip =
    name === 'opencode' && !hasOpencode && !process.env['CI'] && 'test/clients has opencode for Linux on x64 only'
  test(`docs/clients.md: the block of ${name} runs unchanged`, { skip }, async () => {
    const [block, ...others] = blocksIn(section)
    assert.ok(block && others.length === 0, 'there is one block')
    const { code, stdout, stderr } = await run(block)
    assert.equal(code, 0, `${stdout}\n${stderr}\n${service.logs()}`)
    assert.match(stdout, /The capital of France is Paris\./, `${stderr}\n${service.logs()}`)
  })
}
