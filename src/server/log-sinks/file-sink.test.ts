import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createFileSink } from './file-sink.ts'
import type { LogRecord } from './sink.ts'

const root = mkdtempSync(join(tmpdir(), 'switchyard-sink-'))
after(() => rmSync(root, { recursive: true }))

const record = (id: string): LogRecord => ({ id, type: 'call', time: '2026-11-01T00:00:00.000Z' })

function sinkIn(folder: string, settings: Partial<Parameters<typeof createFileSink>[0]> = {}) {
  const path = join(root, folder, 'calls.jsonl')
  const base = {
    name: 'disk',
    type: 'file',
    bodiesUntilMs: undefined,
    maxBytes: 1_000_000,
    maxAgeMs: 60_000,
    keep: 2,
  } as const
  return { path, sink: createFileSink({ ...base, path, ...settings }), files: () => readdirSync(join(root, folder)) }
}

const idsIn = (path: string): string[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => (JSON.parse(line) as LogRecord).id)

test('records are appended as lines to a file that only its owner can read', async () => {
  const { path, sink } = sinkIn('plain')
  await sink.send([record('a'), record('b')])
  await sink.send([record('c')])
  assert.deepEqual(idsIn(path), ['a', 'b', 'c'])
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('a line that a crash has cut is removed before the next one', async () => {
  const { path, sink } = sinkIn('cut')
  await sink.send([record('a')])
  appendFileSync(path, `{"id":"b","text":"${'x'.repeat(200_000)}`)
  await sink.send([record('b')])
  assert.deepEqual(idsIn(path), ['a', 'b'])
})

test('a file is rotated before it exceeds its size, and the oldest ones are removed', async () => {
  const { sink, files } = sinkIn('size', { maxBytes: 1_000 })
  for (let at = 0; at < 6; at++) {
    await sink.send([{ ...record(`r${at}`), text: 'x'.repeat(800) }])
    // The name of a rotated file has the millisecond.
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  assert.equal(files().length, 3)
  const ids = files().flatMap(file => idsIn(join(root, 'size', file)))
  assert.deepEqual(ids.toSorted(), ['r3', 'r4', 'r5'])
})

test('a file is rotated after its age', async () => {
  const { path, sink, files } = sinkIn('age', { maxAgeMs: 0 })
  await sink.send([record('a')])
  await sink.send([record('b')])
  assert.deepEqual(idsIn(path), ['b'])
  assert.equal(files().length, 2)
})

test('a link in the place of the file is not followed', async () => {
  const { path, sink } = sinkIn('link')
  await sink.send([record('a')])
  rmSync(path)
  symlinkSync('/etc/hosts', path)
  await assert.rejects(sink.send([record('b')]), { name: 'SinkFailure', message: /ELOOP/ })
})
