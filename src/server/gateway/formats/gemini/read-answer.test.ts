import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { gemini } from './codec.ts'
import { asClientReads, chunkOf, geminiContext, geminiEvents, vertexDeployment } from './fixtures.ts'

const read = (chunks: readonly unknown[], context = geminiContext()) => asClientReads(geminiEvents(chunks, context))
const last = (chunks: readonly unknown[]) => geminiEvents(chunks).at(-1)
const call = (name: string, rest: object = {}) => ({ functionCall: { name, args: { path: 'a' }, ...rest } })

test('T1: message_start is the first event, with the upstream id and model, also before a call', () => {
  const { events } = read([chunkOf([call('read')], { responseId: 'r1', modelVersion: 'gemini-3.1-pro' }, 'STOP')])
  assert.equal(events[0]?.message?.['id'], 'r1')
  assert.equal(events[0]?.message?.['model'], 'gemini-3.1-pro')
})

test('T3, S1: text and a call in one chunk are both kept, and the reason is tool_use', () => {
  const { content, stopReason } = read([chunkOf([{ text: 'Let me see.' }, call('read', { id: 'c1' })], {}, 'STOP')])
  assert.deepEqual(content, [
    { type: 'text', text: 'Let me see.' },
    { type: 'tool_use', id: 'c1', name: 'read', input: { path: 'a' } },
  ])
  assert.equal(stopReason, 'tool_use')
})

test('T4, T8: a complete call has one delta, which is an empty object without arguments', () => {
  const events = geminiEvents([chunkOf([call('read', { id: 'a' }), call('list', { id: 'b', args: undefined })])])
  const deltas = events.filter(event => event.type === 'block_delta').map(({ text }) => text)
  assert.deepEqual(deltas, ['{"path":"a"}', '{}'])
})

test('T6, T11: empty texts open no block, and an empty answer is valid', () => {
  const { content, stopReason } = read([chunkOf([{ text: '' }]), chunkOf([], {}, 'STOP')])
  assert.deepEqual(content, [])
  assert.equal(stopReason, 'end_turn')
})

test('T7: thoughts become thinking, with consecutive ones in one block', () => {
  const thought = (text: string) => chunkOf([{ text, thought: true }])
  const { content } = read([thought('One. '), thought('Two.'), chunkOf([{ text: 'Hi' }], {}, 'STOP')])
  assert.deepEqual(
    content.map(({ type, thinking, text }) => [type, thinking ?? text]),
    [
      ['thinking', 'One. Two.'],
      ['text', 'Hi'],
    ],
  )
})

test('T12: [DONE] and empty frames are ignored, and usage after the finish reason is counted', () => {
  const decoder = gemini.decoder(geminiContext())
  const push = (data: string) => decoder.push({ event: undefined, data })
  const events = [
    ...push(JSON.stringify(chunkOf([{ text: 'Hi' }], {}, 'STOP'))),
    ...push(' '),
    ...push('{"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2}}'),
    ...push('[DONE]'),
    ...decoder.end(),
  ]
  const { counts, text } = asClientReads(events)
  assert.deepEqual([text, counts.input_tokens, counts.output_tokens], ['Hi', 5, 2])
})

test('T13: invalid and duplicate ids are replaced, deterministically', () => {
  const chunks = [chunkOf([call('a', { id: 'x.1' }), call('b', { id: 'ok' }), call('c', { id: 'ok' }), call('d')])]
  const ids = () => geminiEvents(chunks).flatMap(event => (event.type === 'block_start' ? Object(event.block).id : []))
  const [first, second, third, fourth] = ids()
  assert.equal(second, 'ok')
  assert.deepEqual(ids(), [first, second, third, fourth])
  assert.equal(new Set(ids()).size, 4)
  for (const id of ids()) assert.match(id, /^[a-zA-Z0-9_-]+$/)
})

test('T13, K5: the signature of a call is stored under the id that the client gets', () => {
  const context = geminiContext()
  const { content } = read([chunkOf([{ ...call('a'), thoughtSignature: 'sig' }], {}, 'STOP')], context)
  assert.match(context.callSignatures.get(String(content[0]?.['id'])) ?? '', /"sig"\]$/)
})

const finishes = [
  ['STOP', 'end_turn'],
  ['MAX_TOKENS', 'max_tokens'],
  ['SAFETY', 'refusal'],
  ['RECITATION', 'refusal'],
  ['PROHIBITED_CONTENT', 'refusal'],
  ['BLOCKLIST', 'refusal'],
  ['SPII', 'refusal'],
  ['LANGUAGE', 'refusal'],
  ['OTHER', 'end_turn'],
] as const

for (const [reason, expected] of finishes) {
  test(`S2: ${reason} after text is ${expected}`, () => {
    assert.equal(read([chunkOf([{ text: 'Hi' }]), chunkOf([], {}, reason)]).stopReason, expected)
  })
}

test('S2: a blocked prompt gives a refusal without content', () => {
  const { content, stopReason } = read([{ promptFeedback: { blockReason: 'SAFETY' } }])
  assert.deepEqual([content, stopReason], [[], 'refusal'])
})

test('S4: a stream without a finish reason does not end the message', () => {
  assert.ok(geminiEvents([chunkOf([{ text: 'Hi' }])]).every(({ type }) => type !== 'message_stop' && type !== 'stop'))
})

test('S4: an empty answer with an unspecified finish reason, or a malformed call, is an error', () => {
  assert.equal(last([chunkOf([], {}, 'OTHER')])?.type, 'error')
  assert.equal(last([chunkOf([{ text: 'Hi' }], {}, 'MALFORMED_FUNCTION_CALL')])?.type, 'error')
})

test('U3, U7: cached prompt tokens are subtracted, and thoughts count as output once', () => {
  const usageMetadata = {
    promptTokenCount: 100,
    cachedContentTokenCount: 60,
    toolUsePromptTokenCount: 7,
    candidatesTokenCount: 10,
    thoughtsTokenCount: 30,
    totalTokenCount: 147,
  }
  const { counts } = read([chunkOf([{ text: 'Hi' }], { usageMetadata }, 'STOP')])
  assert.equal(counts.input_tokens, 47)
  assert.equal(counts.cache_read_tokens, 60)
  assert.equal(counts.output_tokens, 40)
  assert.equal(counts.estimated, false)
})

test('U4: counts of later chunks replace those of earlier ones', () => {
  const at = (candidatesTokenCount: number, finish?: string) =>
    chunkOf([{ text: 'x' }], { usageMetadata: { promptTokenCount: 9, candidatesTokenCount } }, finish)
  const { counts } = read([at(1), at(2), at(3, 'STOP')])
  assert.deepEqual([counts.input_tokens, counts.output_tokens], [9, 3])
})

test('K2, K3: a signature without text is kept, and each complete thinking block is signed', () => {
  const { content } = read([
    chunkOf([{ text: 'Hm.', thought: true }, { text: 'Hi' }]),
    chunkOf([{ text: '', thoughtSignature: 'sig' }], {}, 'STOP'),
  ])
  assert.deepEqual(
    content.map(({ type, thinking }) => [type, thinking]),
    [
      ['thinking', 'Hm.'],
      ['text', undefined],
      ['thinking', ''],
    ],
  )
  for (const { type, signature } of content) if (type === 'thinking') assert.match(String(signature), /^sy1\./)
})

test('K8: partial thinking of a truncated stream is not signed', () => {
  const events = geminiEvents([chunkOf([{ text: 'Hm', thought: true, thoughtSignature: 'sig' }])])
  assert.ok(events.every(({ type }) => type !== 'block_signature'))
})

test('code executed by Gemini is returned as text', () => {
  const code = { executableCode: { language: 'PYTHON', code: 'print(1)' } }
  const { text } = read([chunkOf([code, { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } }], {}, 'STOP')])
  assert.equal(text, '\n```python\nprint(1)\n```\n\n```\n1\n```\n')
})

test('an image in the answer is recorded as dropped once', () => {
  const image = { inlineData: { mimeType: 'image/png', data: 'AA==' } }
  const events = geminiEvents([chunkOf([image, image], {}, 'STOP')])
  assert.deepEqual(
    events.filter(({ type }) => type === 'degraded'),
    [{ type: 'degraded', path: 'answer.inlineData', action: 'dropped' }],
  )
})

test('cited web pages are returned as a separate text', () => {
  const groundingMetadata = { groundingChunks: [{ web: { uri: 'https://a.test', title: 'A' } }, { web: {} }] }
  const chunk = { candidates: [{ content: { parts: [{ text: 'Hi' }] }, groundingMetadata, finishReason: 'STOP' }] }
  const { content } = read([chunk])
  assert.deepEqual(content.at(-1), { type: 'text', text: 'Sources:\n- [A](https://a.test)' })
})

const broken = [
  ['not JSON', '{"candidates":['],
  ['no object', '7'],
  ['an error', '{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}'],
  ['an error in a list', '[{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED"}}]'],
] as const

for (const [name, data] of broken) {
  test(`E5: a frame that is ${name} is an error with a plain message, and ends the stream`, () => {
    const decoder = gemini.decoder(geminiContext())
    const [event] = decoder.push({ event: undefined, data })
    assert.equal(event?.type, 'error')
    assert.ok(event?.type === 'error' && !event.message.includes('{'))
    assert.deepEqual(decoder.push({ event: undefined, data: JSON.stringify(chunkOf([{ text: 'x' }])) }), [])
    assert.deepEqual(decoder.end(), [])
  })
}

test('the decoder never throws, whatever the upstream sends', () => {
  const value = fc.jsonValue({ maxDepth: 4 })
  const part = fc.dictionary(
    fc.constantFrom('text', 'thought', 'functionCall', 'thoughtSignature', 'inlineData', 'executableCode', 'toolCall'),
    value,
  )
  const candidate = fc.record(
    { content: fc.oneof(value, fc.record({ parts: fc.array(part) })), finishReason: value, groundingMetadata: value },
    { requiredKeys: [] },
  )
  const chunk = fc.oneof(
    value,
    fc.record(
      { candidates: fc.oneof(value, fc.array(candidate)), usageMetadata: value, promptFeedback: value, error: value },
      { requiredKeys: [] },
    ),
  )
  fc.assert(fc.property(fc.array(chunk, { maxLength: 4 }), chunks => void geminiEvents(chunks)))
})

type Piece =
  | { readonly kind: 'text' | 'thought'; readonly text: string }
  | { readonly kind: 'call'; readonly args: object }

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
const piece: fc.Arbitrary<Piece> = fc.oneof(
  fc.record({ kind: fc.constantFrom('text', 'thought'), text: words }),
  fc.record({ kind: fc.constant('call'), args: fc.dictionary(words, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }) }),
)

/** Returns the parts of these pieces, with texts split at the positions in `cuts`. */
const partsOf = (pieces: readonly Piece[], cuts: ReadonlySet<number>): readonly object[] =>
  pieces.flatMap((each): readonly object[] => {
    if (each.kind === 'call') return [{ functionCall: { name: 'f', args: each.args } }]
    const points = [...each.text]
    const starts = points.map((_, at) => at).filter(at => at === 0 || cuts.has(at))
    const pieces = starts.map((at, index) => points.slice(at, starts[index + 1]).join(''))
    return pieces.map(text => ({ text, ...(each.kind === 'thought' && { thought: true }) }))
  })

test('an answer split into any parts and chunks gives the same text, calls and usage', () => {
  const cuts = fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 6 })
  const size = fc.integer({ min: 1, max: 5 })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), cuts, size, (pieces, at, perChunk) => {
      const usageMetadata = { promptTokenCount: 20, candidatesTokenCount: 5 }
      const parts = partsOf(pieces, new Set(at))
      const chunks = Array.from({ length: Math.ceil(parts.length / perChunk) }, (_, index) =>
        chunkOf(parts.slice(index * perChunk, (index + 1) * perChunk), { usageMetadata }),
      )
      const streamed = read([...chunks, chunkOf([], { usageMetadata }, 'STOP')])
      const body = chunkOf(partsOf(pieces, new Set()), { usageMetadata }, 'STOP')
      const whole = asClientReads(gemini.answer(body, geminiContext()))
      assert.deepEqual(streamed.content, whole.content)
      assert.deepEqual(streamed.counts, whole.counts)
      const said = pieces.filter(({ kind }) => kind === 'text').map(each => (each.kind === 'text' ? each.text : ''))
      assert.equal(streamed.text, said.join(''))
      const inputs = streamed.content.filter(({ type }) => type === 'tool_use').map(({ input }) => input)
      assert.deepEqual(
        inputs,
        pieces.flatMap(each => (each.kind === 'call' ? [JSON.parse(JSON.stringify(each.args))] : [])),
      )
    }),
    { numRuns: 200 },
  )
})

test('a whole answer that is not an object, or has no finish reason, is an error', () => {
  for (const body of ['<html>', [], {}, chunkOf([{ text: 'Hi' }])]) {
    assert.equal(gemini.answer(body, geminiContext()).at(-1)?.type, 'error')
  }
})

test('K5: signatures from Vertex are not sent to the Gemini API', () => {
  const context = geminiContext({ deployment: vertexDeployment })
  read([chunkOf([{ ...call('a', { id: 'c1' }), thoughtSignature: 'sig' }], {}, 'STOP')], context)
  const messages = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'a', input: {} }] },
  ]
  const here = geminiContext({ callSignatures: context.callSignatures })
  assert.match(JSON.stringify(gemini.request({ messages }, here).body), /skip_thought_signature_validator/)
  assert.match(JSON.stringify(gemini.request({ messages }, context).body), /"thoughtSignature":"sig"/)
})
