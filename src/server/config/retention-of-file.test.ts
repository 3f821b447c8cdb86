import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFile } from './file.ts'
import { retentionOfFile } from './retention-of-file.ts'

function read(retention: Record<string, string>) {
  const problems: string[] = []
  const file = { ...emptyFile, value: { retention } }
  return { settings: retentionOfFile({ file, report: text => problems.push(text) }), problems }
}

const dayMs = 86_400_000

test('V8: by default deleted sessions, deliveries and bodies are kept for a week, batches for 29 days and all else forever', () => {
  assert.deepEqual(read({}).settings, {
    deletedSessionsMs: 7 * dayMs,
    deliveriesMs: 7 * dayMs,
    sessionsMs: undefined,
    filesMs: undefined,
    batchesMs: 29 * dayMs,
    bodiesMs: 7 * dayMs,
    ledgerMs: undefined,
    auditMs: undefined,
    experimentsMs: undefined,
  })
})

test('V8: times have a unit, and never keeps data forever', () => {
  const { settings } = read({
    deleted_sessions: 'never',
    deliveries: '90s',
    sessions: '30d',
    files: '2h',
    batches: 'never',
    bodies: '1h',
    ledger: '12h',
    audit: '5m',
    experiments: '30d',
  })
  assert.deepEqual(settings, {
    deletedSessionsMs: undefined,
    deliveriesMs: 90_000,
    sessionsMs: 30 * dayMs,
    filesMs: dayMs / 12,
    batchesMs: undefined,
    bodiesMs: dayMs / 24,
    ledgerMs: dayMs / 2,
    auditMs: 300_000,
    experimentsMs: 30 * dayMs,
  })
})

test('V8: an invalid time is rejected with its key', () => {
  for (const text of ['', '7', '0d', '-1d', '7 days', '7w', '99999999d', 'toString']) {
    assert.deepEqual(read({ ledger: text }).problems, ['retention.ledger must be a time such as 12h or 30d, or never'])
  }
})
