import assert from 'node:assert/strict'
import { test } from 'node:test'
import { otlpBody, rejectedBy } from './otlp.ts'

test('a call is a log record with the names of the conventions for generative AI', () => {
  const call = {
    id: 'use_1',
    type: 'call',
    time: '2026-11-01T00:00:00.123Z',
    outcome: 'failed',
    model: 'm',
    provider: 'anthropic',
    input_tokens: 3,
    total_ms: 1.5,
    estimated: true,
    key_id: null,
    units: { second: 1 },
  } as const
  const { resourceLogs } = JSON.parse(otlpBody([call]))
  assert.deepEqual(resourceLogs[0].scopeLogs[0].logRecords[0], {
    timeUnixNano: '1793491200123000000',
    observedTimeUnixNano: '1793491200123000000',
    severityNumber: 17,
    severityText: 'ERROR',
    eventName: 'switchyard.call',
    body: { stringValue: 'model call failed: m' },
    attributes: [
      { key: 'log.record.uid', value: { stringValue: 'use_1' } },
      { key: 'switchyard.outcome', value: { stringValue: 'failed' } },
      { key: 'gen_ai.request.model', value: { stringValue: 'm' } },
      { key: 'gen_ai.provider.name', value: { stringValue: 'anthropic' } },
      { key: 'gen_ai.usage.input_tokens', value: { intValue: '3' } },
      { key: 'switchyard.total_ms', value: { doubleValue: 1.5 } },
      { key: 'switchyard.estimated', value: { boolValue: true } },
      { key: 'switchyard.units', value: { stringValue: '{"second":1}' } },
    ],
  })
})

const answers = [
  ['', 0],
  ['{}', 0],
  ['null', 0],
  ['not json', 0],
  ['{"partialSuccess":{"rejectedLogRecords":"2"}}', 2],
] as const
for (const [text, rejected] of answers) {
  test(`the response ${JSON.stringify(text)} rejects ${rejected} records`, () =>
    assert.equal(rejectedBy(text), rejected))
}
