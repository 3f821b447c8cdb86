import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt, targetAt } from '../../../../../test/support/gateway/gateway-app.ts'
import { AppError } from '../../../platform/errors.ts'
import { recordOf, recordsOf } from '../../../platform/json.ts'
import { degradedHeader } from '../../core/degradations.ts'
import { geminiClient } from './read-request.ts'

const deployment = deploymentAt('http://127.0.0.1:1')
const hi = { role: 'user', parts: [{ text: 'hi' }] }
const contextOf = (upstreamModel = 'claude-sonnet-4-6') => ({
  target: targetAt(deployment, upstreamModel),
  stream: false,
  model: 'm',
  requestId: 'req_1',
  createdAt: 1,
})
const convert = (request: object, upstreamModel?: string) => {
  const { body, degraded } = geminiClient({ contents: [hi], ...request }, contextOf(upstreamModel))
  // A JSON copy has no recorded paths of parts.
  return { body: JSON.parse(JSON.stringify(body)) as typeof body, degraded: degradedHeader(degraded) }
}
const config = (generationConfig: object) => ({ generationConfig })
const thinking = (thinkingConfig: object) => config({ thinkingConfig })

const user = { role: 'user', content: [{ type: 'text', text: 'hi' }] }
const declared = {
  name: 'f',
  description: 'd',
  parameters: { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true }, type: { type: 'INTEGER' } } },
}
const schema = { type: 'object', properties: { a: { type: ['string', 'null'] }, type: { type: 'integer' } } }
const tools = [{ functionDeclarations: [declared] }]
const cached = { cache_control: { type: 'ephemeral' } }
const canonicalF = { name: 'f', description: 'd', input_schema: schema }
const canonicalG = { name: 'g', input_schema: { type: 'object', properties: {} } }
const mode = (functionCallingConfig: object) => ({ toolConfig: { functionCallingConfig } })

const settings: readonly (readonly [string, object, object, (string | undefined)?, string?])[] = [
  ['no limit given sets none', {}, {}],
  [
    'limit, sampling settings and stop sequences are converted',
    config({ maxOutputTokens: 5, temperature: 1.5, topP: 0.5, topK: 4, stopSequences: ['END', ' '] }),
    { max_tokens: 5, temperature: 1.5, top_p: 0.5, top_k: 4, stop_sequences: ['END'] },
    'generationConfig.stopSequences=blank_dropped',
  ],
  [
    'snake_case spelling of fields is accepted',
    { generation_config: { max_output_tokens: 5, top_k: 4 }, system_instruction: { parts: { text: 'Be brief.' } } },
    { max_tokens: 5, top_k: 4, system: [{ type: 'text', text: 'Be brief.' }] },
  ],
  [
    'models that reject sampling settings get none',
    config({ temperature: 0, topK: 1 }),
    {},
    'generationConfig.temperature=dropped, generationConfig.topK=dropped',
    'claude-opus-5-5',
  ],
  [
    'K7: a thinking level becomes an effort',
    thinking({ thinkingLevel: 'HIGH', includeThoughts: true }),
    { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } },
  ],
  [
    'K7: a thinking budget becomes the nearest effort for models without budgets',
    thinking({ thinkingBudget: 8_192 }),
    { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } },
    'generationConfig.thinkingConfig.thinkingBudget=approximated',
  ],
  [
    'K7: a thinking budget is sent unchanged to models with budgets',
    thinking({ thinkingBudget: 3_000 }),
    { thinking: { type: 'enabled', budget_tokens: 3_000 } },
    undefined,
    'claude-haiku-4-5',
  ],
  [
    'K7: a thinking budget of 0 turns off thinking that is on by default',
    thinking({ thinkingBudget: 0 }),
    { thinking: { type: 'disabled' } },
    undefined,
    'claude-sonnet-5',
  ],
  [
    'responseSchema becomes the output format, with closed objects',
    config({ responseMimeType: 'application/json', responseSchema: { ...declared.parameters, minProperties: '1' } }),
    {
      output_config: {
        format: { type: 'json_schema', schema: { ...schema, minProperties: 1, additionalProperties: false } },
      },
    },
  ],
  [
    'responseJsonSchema becomes the output format',
    config({ responseMimeType: 'application/json', responseJsonSchema: { type: 'array', items: { type: 'string' } } }),
    { output_config: { format: { type: 'json_schema', schema: { type: 'array', items: { type: 'string' } } } } },
  ],
  [
    'functions keep names, descriptions and schemas, and enable prompt caching',
    {
      tools: [
        {
          functionDeclarations: [
            declared,
            { name: 'g', parametersJsonSchema: { type: 'object', properties: {} }, behavior: 'BLOCKING' },
          ],
        },
      ],
    },
    { tools: [canonicalF, canonicalG], ...cached },
    'tools.0.functionDeclarations.1.behavior=dropped',
  ],
  [
    'googleSearch becomes Anthropic’s web search',
    { tools: [{ googleSearch: {} }] },
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }], ...cached },
  ],
  [
    'M7: mode ANY requires a call',
    { tools, ...mode({ mode: 'ANY' }) },
    { tools: [canonicalF], tool_choice: { type: 'any' }, ...cached },
  ],
  [
    'M7: mode ANY with one allowed name requires that function',
    {
      tools: [{ functionDeclarations: [declared, { name: 'g' }] }],
      ...mode({ mode: 'ANY', allowedFunctionNames: ['g'] }),
    },
    { tools: [canonicalG], tool_choice: { type: 'tool', name: 'g' }, ...cached },
  ],
  ['M7: none', { tools, ...mode({ mode: 'NONE' }) }, { tools: [canonicalF], tool_choice: { type: 'none' }, ...cached }],
  [
    'M7: mode VALIDATED becomes auto',
    { tools, ...mode({ mode: 'VALIDATED' }) },
    { tools: [canonicalF], tool_choice: { type: 'auto' }, ...cached },
    'toolConfig.functionCallingConfig.mode=approximated',
  ],
  [
    'fields without effect are not recorded',
    config({ candidateCount: 1, presencePenalty: 0, responseLogprobs: false, seed: null }),
    {},
  ],
  [
    'M9: fields without an equivalent are recorded',
    { safetySettings: [], x: 1, ...config({ seed: 7, logprobs: 2, media_resolution: 'MEDIA_RESOLUTION_LOW' }) },
    {},
    'safetySettings=dropped, x=dropped, generationConfig.seed=dropped, generationConfig.logprobs=dropped, generationConfig.mediaResolution=dropped',
  ],
]

for (const [guarantee, request, expected, listed, upstreamModel] of settings) {
  test(guarantee, () => {
    const { body, degraded } = convert(request, upstreamModel)
    assert.deepEqual(body, { model: 'm', stream: false, messages: [user], ...expected })
    assert.equal(degraded, listed)
  })
}

test('a response format without a schema, or an enum, becomes an instruction', () => {
  const json = convert(config({ responseMimeType: 'application/json' }))
  assert.match(JSON.stringify(json.body['system']), /one JSON object/)
  const word = convert(
    config({ responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['yes', 'no'] } }),
  )
  assert.match(JSON.stringify(word.body['system']), /yes, no/)
  assert.equal(word.degraded, 'generationConfig.responseMimeType=told_in_system')
})

const parts = (...list: object[]) => ({ contents: [{ role: 'user', parts: list }] })
const deep = (levels: number): object =>
  levels === 0 ? { type: 'STRING' } : { type: 'ARRAY', items: deep(levels - 1) }

const refused: readonly (readonly [object, RegExp])[] = [
  [{ contents: ['hi'] }, /^contents\.0 must be an object/],
  [{ contents: [{ role: 'robot', parts: [] }] }, /^contents\.0\.role must be user or model/],
  [{ contents: [{ role: 'user', parts: 'hi' }] }, /^contents\.0\.parts must be an array/],
  [parts({ text: 5 }), /^contents\.0\.parts\.0\.text must be a string/],
  [parts({ text: ' ' }), /^request contains no messages$/],
  [
    parts({ inlineData: { mimeType: 'audio/wav', data: 'AAAA' } }),
    /^contents\.0\.parts\.0\.inlineData\.mimeType audio\/wav/,
  ],
  [parts({ inline_data: { mime_type: 'image/png' } }), /^contents\.0\.parts\.0\.inlineData\.data/],
  [parts({ fileData: { fileUri: 'gs://a/b', mimeType: 'image/png' } }), /^contents\.0\.parts\.0\.fileData\.fileUri/],
  [parts({ functionResponse: { response: {} } }), /^contents\.0\.parts\.0\.functionResponse\.name/],
  [parts({ functionResponse: { name: 'f', response: 'x' } }), /^contents\.0\.parts\.0\.functionResponse\.response/],
  [
    { contents: [{ role: 'model', parts: [{ functionCall: { args: {} } }] }] },
    /^contents\.0\.parts\.0\.functionCall\.name/,
  ],
  [{ cachedContent: 'cachedContents/1' }, /^cachedContent/],
  [{ tools: [{ functionDeclarations: [{}] }] }, /^tools\.0\.functionDeclarations\.0\.name/],
  [
    { tools: [{ functionDeclarations: [{ name: 'f', parameters: 5 }] }] },
    /^tools\.0\.functionDeclarations\.0\.parameters/,
  ],
  [{ tools: [{ functionDeclarations: [{ name: 'f', parameters: deep(5_000) }] }] }, /nested deeper than 100 levels/],
  [{ tools: [{ codeExecution: {} }] }, /^tools\.0\.codeExecution is not supported/],
  [mode({ mode: 'MAYBE' }), /^toolConfig\.functionCallingConfig\.mode/],
  [config({ candidateCount: 3 }), /^generationConfig\.candidateCount must be 1/],
  [config({ responseModalities: ['TEXT', 'AUDIO'] }), /^generationConfig\.responseModalities/],
  [config({ responseMimeType: 'text/html' }), /^generationConfig\.responseMimeType/],
  [config({ topP: 'hot' }), /^generationConfig\.topP must be a number/],
  [config({ stopSequences: 'END' }), /^generationConfig\.stopSequences/],
  [thinking({ thinkingLevel: 'HUGE' }), /^generationConfig\.thinkingConfig\.thinkingLevel/],
  [thinking({ thinkingBudget: 'much' }), /^generationConfig\.thinkingConfig\.thinkingBudget/],
]

for (const [request, message] of refused) {
  test(`a request is rejected with its field: ${message.source}`, () => {
    assert.throws(
      () => convert(request),
      error => error instanceof AppError && error.code === 'invalid_request' && message.test(error.message),
    )
  })
}

test('a googleSearch that the upstream cannot run is rejected, not dropped', () => {
  const elsewhere = { ...deployment, provider: 'openrouter' }
  const context = {
    target: targetAt(elsewhere, 'm'),
    stream: false,
    model: 'm',
    requestId: 'r',
    createdAt: 1,
  }
  assert.throws(
    () => geminiClient({ contents: [hi], tools: [{ google_search: {} }] }, context),
    /^Error: tools\.0\.googleSearch|tools\.0\.googleSearch/,
  )
})

test('C4: equal requests give equal bytes', () => {
  const request = { tools, contents: [hi, { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] }] }
  assert.equal(JSON.stringify(convert(request).body), JSON.stringify(convert(structuredClone(request)).body))
})

test('S50: 100,000 cited pages are collected in linear time, each once', () => {
  const { writer } = geminiClient({ contents: [hi] }, contextOf())
  const cite = (at: number) => ({ url: `https://x.test/${at}`, title: 't', own: {} })
  writer.take({ type: 'block_start', block: { type: 'text' } })
  writer.take({ type: 'block_delta', text: 'a' })
  for (let at = 0; at < 200_000; at++) writer.take({ type: 'block_citation', citation: cite(at % 100_000) })
  writer.take({ type: 'block_stop' })
  const [candidate] = recordsOf(recordOf(writer.whole())['candidates'])
  const { groundingChunks: chunks } = recordOf(candidate?.['groundingMetadata'])
  assert.equal(recordsOf(chunks).length, 100_000)
})
