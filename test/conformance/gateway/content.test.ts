import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SpokenProtocol } from '../../support/upstream/spoken-protocols.ts'
import { afterCall, imageBlock, pdf, pdfBlock, pixel, startPair, tool, translated } from './setup.ts'

const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
const textDocument = {
  type: 'document',
  title: 'Notes',
  source: { type: 'text', media_type: 'text/plain', data: 'the text of the notes' },
}

/** Where each protocol has the content of the request; `undefined` where it has no such thing. */
interface Place {
  /** True when the request asks for the choice of any tool, of none, of `look`. */
  readonly any: RegExp
  readonly named: RegExp
  readonly none: RegExp | undefined
  readonly stops: RegExp | undefined
  /** Precedes the text of a system entry. */
  readonly system: (body: Readonly<Record<string, unknown>>) => string
}

const text = (value: unknown): string => JSON.stringify(value) ?? ''

const places: Readonly<Record<Exclude<SpokenProtocol, 'anthropic-messages'>, Place>> = {
  'openai-chat': {
    any: /"tool_choice":"required"/,
    named: /"tool_choice":\{"type":"function","function":\{"name":"look"\}\}/,
    none: /"tool_choice":"none"/,
    stops: /"stop":\["END"\]/,
    system: ({ messages }) => text(messages),
  },
  'openai-responses': {
    any: /"tool_choice":"required"/,
    named: /"tool_choice":\{"type":"function","name":"look"\}/,
    none: /"tool_choice":"none"/,
    stops: undefined,
    system: ({ instructions }) => text(instructions),
  },
  gemini: {
    any: /"functionCallingConfig":\{"mode":"ANY"\}/,
    named: /"mode":"ANY","allowedFunctionNames":\["look"\]/,
    none: /"mode":"NONE"/,
    stops: /"stopSequences":\["END"\]/,
    system: ({ systemInstruction }) => text(systemInstruction),
  },
  'bedrock-converse': {
    any: /"toolChoice":\{"any":\{\}\}/,
    named: /"toolChoice":\{"tool":\{"name":"look"\}\}/,
    none: undefined,
    stops: /"stopSequences":\["END"\]/,
    system: ({ system }) => text(system),
  },
}

for (const protocol of translated) {
  const place = places[protocol]

  test(`M1, ${protocol}: an image in a tool result reaches the model`, async t => {
    const { request: ask, sentText } = await startPair(t, protocol, { script: [{}] })
    await ask(afterCall([{ type: 'text', text: 'a picture' }, imageBlock]))
    assert.ok(sentText().includes(pixel) && sentText().includes('a picture'))
  })

  test(`M2, ${protocol}: documents work at top level and in a tool result`, async t => {
    const { request: ask, sentText } = await startPair(t, protocol, { script: [{}] })
    await ask(user({ type: 'text', text: 'read' }, pdfBlock, textDocument))
    assert.ok(sentText().includes(pdf), 'pdf')
    assert.ok(/the text of the notes|dGhlIHRleHQgb2YgdGhlIG5vdGVz/.test(sentText()), 'text')
    await ask(afterCall([{ type: 'text', text: 'the file' }, pdfBlock]))
    assert.ok(sentText().includes(pdf), 'pdf in a result')
  })

  test(`M3, ${protocol}: a failed tool is marked as failed, and an empty result is not empty`, async t => {
    const { request: ask, sent, sentText } = await startPair(t, protocol, { script: [{}] })
    await ask(afterCall('no such file', { is_error: true }))
    assert.match(sentText(), /error|fail/i)
    assert.ok(sentText().includes('no such file'))
    for (const empty of ['', [], undefined]) {
      await ask(afterCall(empty))
      assert.doesNotMatch(text(sent()), /"(output|content)":(""|\[\])|"response":\{\}/)
    }
  })

  test(`M4, ${protocol}: results come first in the user turn, side by side, and text follows`, async t => {
    const { request: ask, sentText } = await startPair(t, protocol, { script: [{}] })
    const call = (id: string) => ({ type: 'tool_use', id, name: 'look', input: { what: id } })
    const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: `saw ${id}` })
    await ask({
      tools: [tool],
      messages: [
        { role: 'user', content: 'look twice' },
        { role: 'assistant', content: [call('toolu_1'), call('toolu_2')] },
        { role: 'user', content: [{ type: 'text', text: 'go on then' }, result('toolu_1'), result('toolu_2')] },
      ],
    })
    const places = ['saw toolu_1', 'saw toolu_2', 'go on then'].map(part => sentText().indexOf(part))
    assert.ok(places.every(at => at > 0))
    assert.deepEqual(
      places.toSorted((a, b) => a - b),
      places,
    )
  })

  test(`M5, ${protocol}: assistant text behind a tool use is carried`, async t => {
    const { request: ask, sentText } = await startPair(t, protocol, { script: [{}] })
    const request = afterCall('seen')
    const [first, , last] = request.messages
    const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
    const assistant = { role: 'assistant', content: [call, { type: 'text', text: 'said behind it' }] }
    const response = await ask({ ...request, messages: [first, assistant, last] })
    assert.equal(response.error, undefined)
    assert.ok(sentText().includes('said behind it'))
  })

  test(`M3, ${protocol}: a result of a tool search names the tools that it found`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    const response = await post(afterCall([{ type: 'tool_reference', tool_name: 'mcp__notes__read' }]))
    assert.equal(response.status, 200)
    assert.match(sentText(), /Tool found: mcp__notes__read/)
    assert.doesNotMatch(response.headers.get('x-switchyard-degraded') ?? '', /content\.0\.content/)
  })

  test(`M6, ${protocol}: several system entries are joined in order, and one in mid-conversation is carried`, async t => {
    const { request: ask, sent, sentText } = await startPair(t, protocol, { script: [{}] })
    const system = ['one', 'two', 'three'].map(part => ({ type: 'text', text: `rule ${part}` }))
    for (const content of ['from now on in rhyme', [{ type: 'text', text: 'from now on in rhyme' }]]) {
      const messages = [
        { role: 'user', content: 'hi' },
        { role: 'system', content },
        { role: 'user', content: 'go on' },
      ]
      assert.equal((await ask({ system, messages })).error, undefined)
      const joined = place.system(sent())
      const at = ['rule one', 'rule two', 'rule three'].map(part => joined.indexOf(part))
      assert.ok(at.every(position => position >= 0))
      assert.deepEqual(
        at.toSorted((a, b) => a - b),
        at,
      )
      assert.ok(sentText().includes('from now on in rhyme'))
    }
  })

  test(`M7, ${protocol}: the tool choice is carried`, async t => {
    const { request: ask, sentText } = await startPair(t, protocol, { script: [{}] })
    const choose = async (tool_choice: object) => {
      await ask({ tools: [tool], tool_choice })
      return sentText()
    }
    assert.match(await choose({ type: 'any' }), place.any)
    assert.match(await choose({ type: 'tool', name: 'look' }), place.named)
    if (place.none) assert.match(await choose({ type: 'none' }), place.none)
    else assert.doesNotMatch(await choose({ type: 'none' }), /"toolChoice":\{"(any|tool)"/)
  })

  test(`M9, ${protocol}: stop sequences, top_k, metadata and temperature are carried or listed`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    const more = { stop_sequences: ['END'], top_k: 40, metadata: { user_id: 'u-1' }, temperature: 0.5 }
    const response = await post(more)
    assert.equal(response.status, 200)
    const listed = response.headers.get('x-switchyard-degraded') ?? ''
    const isKept = (carried: RegExp | undefined, name: string) =>
      carried?.test(sentText()) === true || listed.includes(name)
    assert.ok(isKept(place.stops, 'stop_sequences'), 'stop_sequences')
    assert.ok(isKept(/top_?k":40/i, 'top_k'), 'top_k')
    assert.ok(isKept(/"u-1"/, 'metadata'), 'metadata')
    assert.ok(isKept(/"temperature":0\.5/, 'temperature'), 'temperature')
  })

  test(`M10, ${protocol}: web search becomes the native equivalent, or a 400 that names the tool`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    const response = await post({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] })
    if (response.status === 200) assert.match(sentText(), /web_search|googleSearch|google_search/)
    else {
      assert.equal(response.status, 400)
      assert.match(await response.text(), /tools\.0|tools\[0\]/)
    }
  })
}

for (const protocol of ['openai-chat', 'openai-responses'] as const) {
  test(`M7, ${protocol}: disable_parallel_tool_use is parallel_tool_calls: false`, async t => {
    const { request: ask, sent } = await startPair(t, protocol, { script: [{}] })
    await ask({ tools: [tool], tool_choice: { type: 'auto', disable_parallel_tool_use: true } })
    assert.equal(sent()['parallel_tool_calls'], false)
  })
}

test('M8: schemas for Gemini lose what it rejects, and properties with such names survive', async t => {
  const { request: ask, sentText } = await startPair(t, 'gemini', { script: [{}] })
  const input_schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    additionalProperties: false,
    propertyNames: { pattern: '^a' },
    patternProperties: { '^x': { type: 'string' } },
    properties: {
      additionalProperties: { type: 'string' },
      uniqueItems: { type: 'array', uniqueItems: true, items: { type: ['string', 'null'] } },
      size: { type: 'integer', exclusiveMinimum: 0, enum: [1, 2] },
    },
    required: ['uniqueItems'],
  }
  await ask({ tools: [{ ...tool, input_schema }] })
  const sent = sentText()
  for (const name of ['$schema', 'propertyNames', 'patternProperties', 'exclusiveMinimum'])
    assert.ok(!sent.includes(`"${name}"`), name)
  assert.doesNotMatch(sent, /"additionalProperties":false|"uniqueItems":true|"type":\[/)
  assert.match(sent, /"additionalProperties":\{"type":/)
  assert.match(sent, /"uniqueItems":\{"type":/)
})

for (const protocol of ['openai-chat', 'openai-responses'] as const) {
  test(`M8, ${protocol}: each array of a schema gets the items that OpenAI requires; properties of such names stay`, async t => {
    const { request: ask, sentText } = await startPair(t, protocol, { script: [{}] })
    const array = { type: 'array', description: 'any' }
    const schema = {
      type: 'object',
      properties: { type: { type: 'string' }, rows: { anyOf: [array, { type: ['array', 'null'], items: array }] } },
    }
    await ask({
      tools: [{ name: 'look', input_schema: schema }],
      output_config: { format: { type: 'json_schema', schema } },
    })
    const whole = { ...array, items: {} }
    const expected = { ...schema.properties, rows: { anyOf: [whole, { type: ['array', 'null'], items: whole }] } }
    assert.equal(sentText().split(`"properties":${JSON.stringify(expected)}`).length, 3, sentText())
  })
}
