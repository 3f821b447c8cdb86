import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Attribute, spansOfRequest } from '../../../../test/support/service/otlp-spans.ts'
import { createBatches } from './batches.ts'
import type { Span } from './span.ts'
import { createSpanEncoder, encodedAttributes, tracesFrame } from './span-encoding.ts'

const span: Span = {
  traceId: 'c191f3c23a5128880d33a8650b9db3b1',
  spanId: '03635f9fdaf5fb01',
  parentId: undefined,
  name: 'chat demo',
  kind: 'client',
  startMs: 1_795_769_573_577.123,
  endMs: 1_795_769_573_590,
  attributes: {},
}

const resource = { 'service.name': 'switchyard', 'service.instance.id': 'x'.repeat(300) }

/** Returns what a collector reads of spans that are sent in one request. */
function received(...spans: readonly Span[]) {
  const encode = createSpanEncoder()
  const batches = createBatches(tracesFrame(resource))
  for (const one of spans) batches.add(encode(one))
  return spansOfRequest(batches.take()?.body() ?? Buffer.alloc(0))
}

const valuesOf = (attributes: readonly Attribute[] = []) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, Object.entries(value).find(([, given]) => given !== undefined)]),
  )

test('a collector reads ids, name, times in nanoseconds, state, links and status of a span', () => {
  const link = { traceId: '0'.repeat(31).concat('1'), spanId: 'abcdef0123456789', isSampled: true, state: 'a=b' }
  const { spans } = received(
    { ...span, parentId: '00f067aa0ba902b7', state: 'c=d', links: [link], error: 'rate_limited' },
    span,
  )
  const { links, attributes, ...first } = spans[0] ?? assert.fail()
  assert.deepEqual(first, {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: '00f067aa0ba902b7',
    traceState: 'c=d',
    name: 'chat demo',
    kind: 3,
    startTimeUnixNano: '1795769573577123000',
    endTimeUnixNano: '1795769573590000000',
    status: { code: 2, message: 'rate_limited' },
  })
  assert.deepEqual(attributes, [])
  assert.deepEqual(links, [{ traceId: link.traceId, spanId: link.spanId, traceState: 'a=b' }])
  const { parentSpanId, traceState, status } = spans[1] ?? assert.fail()
  assert.deepEqual([parentSpanId, traceState, status], [undefined, undefined, { code: 0, message: undefined }])
})

test('every kind and length of value is read back', () => {
  const texts = [
    '',
    'x'.repeat(64),
    'x'.repeat(127),
    'x'.repeat(128),
    'é'.repeat(70),
    '日本\u{1F600}',
    'y'.repeat(40_000),
  ]
  const numbers = [0, 1, 127, 128, 16_383, 16_384, 2 ** 21 - 1, 2 ** 21, 2 ** 32, Number.MAX_SAFE_INTEGER]
  const doubles = [0.5, -3, 1e300, Number.NaN]
  const named = (kind: string, values: readonly (string | number)[]) =>
    Object.fromEntries(values.map((value, at) => [`${kind}.${at}`, value]))
  const attributes = {
    ...named('text', texts),
    ...named('number', numbers),
    ...named('double', doubles),
    yes: true,
    no: false,
    list: ['a', 'b'.repeat(200)],
    none: undefined,
    nothing: null,
  }
  const { spans } = received({ ...span, attributes })
  const read = valuesOf(spans[0]?.attributes)
  for (const [at, text] of texts.entries()) assert.deepEqual(read[`text.${at}`], ['stringValue', text])
  for (const [at, number] of numbers.entries()) assert.deepEqual(read[`number.${at}`], ['intValue', String(number)])
  for (const [at, double] of doubles.entries()) assert.deepEqual(read[`double.${at}`], ['doubleValue', double])
  assert.deepEqual(
    [read['yes'], read['no']],
    [
      ['boolValue', true],
      ['boolValue', false],
    ],
  )
  assert.deepEqual(
    (read['list']?.[1] as Attribute['value'][] | undefined)?.map(({ stringValue }) => stringValue),
    ['a', 'b'.repeat(200)],
  )
  assert.deepEqual([read['none'], read['nothing']], [undefined, undefined])
})

test('a lone surrogate, which no collector accepts, is replaced', () => {
  const { spans } = received({ ...span, attributes: { text: 'a\ud800b' } })
  assert.deepEqual(valuesOf(spans[0]?.attributes)['text'], ['stringValue', 'a\ufffdb'])
})

test('a request names its resource, and many spans with shared attributes', () => {
  const sharedAttributes = encodedAttributes({ 'gen_ai.operation.name': 'chat', codes: ['x'] })
  const many = Array.from({ length: 500 }, (_, at) => ({ ...span, sharedAttributes, attributes: { at } }))
  const { resource: read, spans } = received(...many)
  assert.deepEqual(valuesOf(read), {
    'service.name': ['stringValue', 'switchyard'],
    'service.instance.id': ['stringValue', 'x'.repeat(300)],
  })
  assert.equal(spans.length, 500)
  for (const [at, { attributes }] of spans.entries())
    assert.deepEqual(valuesOf(attributes)['at'], ['intValue', String(at)])
  assert.deepEqual(valuesOf(spans[499]?.attributes)['gen_ai.operation.name'], ['stringValue', 'chat'])
})
