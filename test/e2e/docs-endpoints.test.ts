import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { clientProgram } from '../support/service/client-program.ts'
import { startService } from '../support/service/service.ts'
import { type GotRequest, type NextAnswer, startEndpointUpstream } from '../support/upstream/endpoint-upstream.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/endpoints.md'), 'utf8')
const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', code = '']) => ({
  language,
  code,
}))
const [start = '', ...scripts] = blocks.flatMap(({ language, code }) => (language === 'sh' ? [code] : []))
const settings = blocks.flatMap(({ language, code }) => (language === 'yaml' ? [code] : []))

const json = (value: object): NextAnswer => ({ body: JSON.stringify(value) })
const vector = { values: [0.5, 0.25] }
const usage = { input_tokens: 3, output_tokens: 2 }

/** What the providers of the page answer, by method and path. */
const answers: Readonly<Record<string, NextAnswer>> = {
  'POST /v1/completions': json({ choices: [{ text: 'upon a time', finish_reason: 'length' }] }),
  'POST /v1/moderations': json({ results: [{ flagged: false }] }),
  'POST /v1/images/generations': json({ data: [{ b64_json: 'aGk=' }], usage }),
  'POST /v1/images/edits': json({ data: [{ b64_json: 'aGk=' }], usage }),
  'POST /v1/audio/speech': { type: 'audio/mpeg', body: Buffer.alloc(3_000, 1) },
  'POST /v1/audio/transcriptions': json({ text: 'Hello', usage: { type: 'duration', seconds: 1 } }),
  'POST /v1/audio/translations': json({ text: 'Hello', usage: { type: 'duration', seconds: 1 } }),
  'POST /v2/rerank': json({ results: [{ index: 1, relevance_score: 0.9 }] }),
  'POST /v1beta/models/gemini-embedding-001:batchEmbedContents': json({ embeddings: [vector, vector] }),
  'POST /v1/embeddings': json({ data: [{ index: 0, embedding: vector.values }], usage: { prompt_tokens: 2 } }),
  'POST /v1/messages': json({ type: 'message', content: [{ type: 'text', text: 'Hi' }], usage }),
  'POST /v1/files': json({ id: 'file_1' }),
  'GET /v1beta/files': json({ files: [] }),
}
const lineOf = ({ method, url }: GotRequest) => `${method} ${url}`

const upstream = await startEndpointUpstream()
upstream.answer(got => answers[lineOf(got)] ?? { status: 404, ...json({ error: { message: `no ${lineOf(got)}` } }) })
after(() => upstream.stop())
const provider = (name: string, base = '') => ({
  model_name: `${name}/*`,
  params: { model: `${name}/*`, api_base: `${upstream.url}${base}`, api_key: 'sk-upstream' },
})
const shown = settings.flatMap(text => {
  const { model_list } = parse(text.replaceAll(/https:\/\/[\w.]+/g, upstream.url)) as { model_list: readonly object[] }
  return model_list
})
const service = await startService({
  config: JSON.stringify({
    model_list: [provider('openai', '/v1'), provider('ollama'), provider('gemini'), provider('anthropic'), ...shown],
    outbound: { allow: [new URL(upstream.url).host] },
  }),
  env: { COHERE_API_KEY: 'sk-upstream' },
})
const shell = await clientProgram('bash')
/** A status of 400 and more ends the script. */
const strict = 'curl() { command curl --fail-with-body "$@"; }'

for (const script of scripts) {
  const curls = script.match(/^curl /gm) ?? []
  const [, path = ''] = /\$URL(\/[\w/.]+)/.exec(script) ?? []
  test(`docs/endpoints.md: the block that begins with ${path} runs unchanged`, async () => {
    const before = upstream.requests.length
    const { code, stdout, stderr } = await shell.run({
      args: ['-eo', 'pipefail', '-c', `${start}${strict}\n${script}`],
      env: { SWITCHYARD_URL: service.url, SWITCHYARD_KEY: service.key },
    })
    assert.equal(code, 0, `${stdout}\n${stderr}`)
    assert.equal(upstream.requests.length - before, curls.length, 'each request reaches its provider')
  })
}

test('the blocks of docs/endpoints.md together make every request that the providers here answer', () => {
  assert.deepEqual([...new Set(upstream.requests.map(lineOf))].sort(), Object.keys(answers).sort())
})
