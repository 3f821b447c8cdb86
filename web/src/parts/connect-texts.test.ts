import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mcpClients, modelClients } from './connect-texts.ts'

const address = 'https://switchyard.example.com'
const textOf = (texts: ReturnType<typeof mcpClients>, client: string): string =>
  texts.find(each => each.client === client)?.text ?? assert.fail(`no block for ${client}`)

test('each block names the address, and has a placeholder where no key is given', () => {
  const blocks = [
    ...modelClients({ address, model: 'demo' }),
    ...mcpClients({ address, name: 'tickets', path: '/mcp/tickets' }),
  ]
  for (const { client, text } of blocks) assert.ok(text.includes(address), client)
  assert.match(textOf(blocks, 'Claude Code'), /SWITCHYARD_KEY='sk-…'/)
})

test('a key that is shown once is in the commands and in no file', () => {
  for (const { client, text } of modelClients({ address, model: 'demo', apiKey: 'sk-1234' })) {
    assert.match(text, /SWITCHYARD_KEY=sk-1234\n/, client)
    assert.equal(text.split('sk-1234').length, 2, client)
  }
})

test('names of models cannot end a word of the shell', () => {
  const [claude] = modelClients({ address, model: "x'; touch /tmp/y #" })
  assert.match(claude?.text ?? '', /--model 'x'\\''; touch \/tmp\/y #'/)
})

test('the file of opencode is JSON with the provider and the model', () => {
  const text = textOf(modelClients({ address, model: 'gemini/gemini-3-pro' }), 'opencode')
  const file = JSON.parse(/END'\n([\s\S]*)\nEND/.exec(text)?.[1] ?? '') as {
    provider: { switchyard: { options: { baseURL: string }; models: object } }
  }
  assert.equal(file.provider.switchyard.options.baseURL, `${address}/v1`)
  assert.deepEqual(Object.keys(file.provider.switchyard.models), ['gemini/gemini-3-pro'])
})
