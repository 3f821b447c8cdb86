import assert from 'node:assert/strict'
import { test } from 'node:test'
import { geminiBoundOf } from './gemini-bound.ts'

const data = 'A'.repeat(4_000)
const boundOf = (request: object) => {
  const body = Buffer.from(JSON.stringify(request))
  return { ...geminiBoundOf(body, JSON.parse(body.toString())), bodyBytes: body.length }
}
const parts = (...list: object[]) => ({ contents: [{ role: 'user', parts: list }] })

test('a picture counts as a picture, also in a result and in the other spelling; its data is no text', () => {
  const image = { inlineData: { mimeType: 'image/png', data } }
  const other = { inline_data: { mime_type: 'image/png', data } }
  const result = { functionResponse: { name: 'f', response: {}, parts: [image] } }
  const { images, textBytes, bodyBytes, fillsWindow } = boundOf(parts(image, other, result))
  assert.deepEqual([images, bodyBytes - textBytes, fillsWindow], [3, 3 * data.length, false])
})

test('data that a model may read as text counts as text', () => {
  for (const inline of [
    { mimeType: 'text/plain', data },
    { mimeType: 'image/png', data: `${data} and more` },
  ]) {
    const { textBytes, bodyBytes } = boundOf(parts({ inlineData: inline }))
    assert.equal(textBytes, bodyBytes)
  }
})

test('documents, sound and what is stored elsewhere may fill the window', () => {
  for (const request of [
    parts({ inlineData: { mimeType: 'application/pdf', data } }),
    parts({ inlineData: { mimeType: 'audio/wav', data } }),
    parts({ fileData: { fileUri: 'https://x.example/a' } }),
    { ...parts({ text: 'hi' }), cached_content: 'cachedContents/1' },
  ])
    assert.equal(boundOf(request).fillsWindow, true)
})

test('tools that the provider runs and more than one answer are counted', () => {
  const tools = [{ functionDeclarations: [{ name: 'f' }] }, { googleSearch: {}, code_execution: {} }]
  const { providerCalls, tools: own, answers } = boundOf({ tools, generation_config: { candidate_count: 3 } })
  assert.deepEqual([providerCalls, own, answers], [20, 2, 3])
  assert.deepEqual([boundOf({}).answers, boundOf({}).providerCalls], [1, 0])
})
