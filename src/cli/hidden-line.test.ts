import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { readHiddenLine } from './hidden-line.ts'

/** A terminal with `chunks` as input. */
function typing(chunks: readonly (string | Buffer)[]) {
  const states: string[] = []
  const terminal = Object.assign(new EventEmitter(), {
    setRawMode: (isRaw: boolean) => void states.push(isRaw ? 'raw' : 'shown'),
    pause: () => void states.push('paused'),
  })
  const line = readHiddenLine(terminal)
  for (const chunk of chunks) terminal.emit('data', Buffer.from(chunk))
  return { line, states, listeners: () => terminal.listenerCount('data') }
}

const lines = [
  ['a pasted key', ['sk-1234\r'], 'sk-1234'],
  ['single letters, one taken back', ['s', 'l', '\u007f', 'k', '\n'], 'sk'],
  ['more erasing than there was', ['\b\ba\r'], 'a'],
  ['the end of input', ['key\u0004'], 'key'],
  ['only the first line', ['one\rtwo\r'], 'one'],
  ['a letter that is cut in two', [Buffer.from([0xc3]), Buffer.from([0xa4, 0x0d])], 'ä'],
] as const
for (const [what, chunks, expected] of lines) {
  test(`${what} is read, and the terminal mode is restored`, async () => {
    const { line, states, listeners } = typing(chunks)
    assert.equal(await line, expected)
    assert.deepEqual(states, ['raw', 'shown', 'paused'])
    assert.equal(listeners(), 0)
  })
}

test('Ctrl-C cancels the command and restores the terminal mode', async () => {
  const { line, states } = typing(['sk-\u0003'])
  await assert.rejects(line, { exitCode: 130 })
  assert.deepEqual(states, ['raw', 'shown', 'paused'])
})
