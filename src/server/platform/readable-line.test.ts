import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from './log.ts'
import { readableLine } from './readable-line.ts'

test('E4: a line on a terminal shows time, level, message and fields, and no stack', () => {
  const lines: string[] = []
  const log = createLog('info', { write: line => void lines.push(readableLine(line)) })
  log.warn({ err: new Error('no room'), session_id: 'ses_1', count: 3 }, 'cannot write')
  assert.match(lines[0] ?? '', /^\d\d:\d\d:\d\d\.\d{3} WARN {2}cannot write err=no room session_id=ses_1 count=3\n$/)
})

test('E4, S44: escape sequences in a field do not reach the terminal', () => {
  const line = readableLine(JSON.stringify({ level: 'info', msg: 'hi', path: '/\u001b[2J\n/x' }))
  assert.equal(line, ' INFO  hi path=/?[2J?/x\n')
})
