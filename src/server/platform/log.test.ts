import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog, piecesOf } from './log.ts'

test('lines of several processes are written in pieces that a pipe takes whole, and none is split', () => {
  const lines = Array.from({ length: 300 }, (_, index) => `${'x'.repeat(index * 3)}é\n`)
  const pieces = piecesOf(lines.join(''))
  assert.equal(pieces.join(''), lines.join(''))
  assert.ok(pieces.every(piece => piece.endsWith('\n') && Buffer.byteLength(piece) <= 4_096))
  assert.ok(pieces.length < 100)
  assert.deepEqual(piecesOf(`a\n${'b'.repeat(5_000)}\nc\n`), ['a\n', `${'b'.repeat(5_000)}\n`, 'c\n'])
})

test('each line names its process among several, and says nothing of the only one', () => {
  const fieldsOf = (origin?: { worker: number }) => {
    const written: string[] = []
    createLog('info', { write: line => void written.push(line) }, origin).info('hello')
    return Object.keys(JSON.parse(written[0] ?? '{}'))
  }
  assert.deepEqual(fieldsOf({ worker: 2 }), ['level', 'time', 'worker', 'msg'])
  assert.deepEqual(fieldsOf(), ['level', 'time', 'msg'])
})

test('an error of the database is logged without its connection and without the values of its row', () => {
  const written: string[] = []
  const error = Object.assign(new Error('new row violates a check'), {
    code: '23514',
    client: { password: 'swordfish' },
    detail: 'Failing row contains (swordfish)',
  })
  createLog('info', { write: line => void written.push(line) }).error({
    err: new Error('cannot insert', { cause: error }),
  })
  createLog('info', { write: line => void written.push(line) }).error({ err: error })
  assert.equal(written.length, 2)
  assert.match(written.join(), /violates a check/)
  assert.doesNotMatch(written.join(), /swordfish/)
})
