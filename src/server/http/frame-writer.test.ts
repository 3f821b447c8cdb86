import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../../test/support/service/eventually.ts'
import { FrameWriter } from './frame-writer.ts'
import { WriteTurns } from './write-turns.ts'

/** A connection that drains each frame 20 ms after it was written. */
class SlowConnection extends EventEmitter {
  isCut = false
  readonly writableNeedDrain = false

  write(): boolean {
    void sleep(20).then(() => this.emit('drain'))
    return false
  }

  destroy(): void {
    this.isCut = true
  }
}

async function framesTaken(bytes: number, most: number, slowReaderMs: number): Promise<number> {
  const connection = new SlowConnection()
  const writer = new FrameWriter(connection as unknown as ServerResponse, new AbortController().signal, {
    turns: new WriteTurns(),
    slowReaderMs,
  })
  for (let count = 0; count < most; count++) {
    if (!(await writer.write(Buffer.alloc(bytes)))) {
      assert.ok(writer.isOver)
      await eventually(() => connection.isCut, { what: 'the cut' })
      return count
    }
  }
  return most
}

test('V2: a reader that reads only a little is disconnected', async () => {
  assert.ok((await framesTaken(1_000, 1_000, 200)) < 1_000)
})

test('V2: a reader that reads enough is not disconnected, however long the total wait is', async () => {
  // Waits 2 s in all, but only 100 ms for 5 MiB: a tenth of what is allowed, so that a busy machine does not matter.
  assert.equal(await framesTaken(1024 * 1024, 100, 1_000), 100)
})

/** A connection that never drains. */
class StuckConnection extends SlowConnection {
  written = 0

  override write(): boolean {
    this.written++
    return false
  }
}

test('V2: readers that time out together are disconnected in turns, without further writes to them', async () => {
  const connections = Array.from({ length: 20 }, () => new StuckConnection())
  const options = { turns: new WriteTurns(), slowReaderMs: 20 }
  const writers = connections.map(
    connection => new FrameWriter(connection as unknown as ServerResponse, new AbortController().signal, options),
  )
  const cutCount = () => connections.filter(({ isCut }) => isCut).length
  const answers = writers.map(writer => writer.write('frame').then(isWritten => [isWritten, writer.write('more')]))
  const steps: number[] = []
  while (cutCount() < connections.length) {
    const before = cutCount()
    await nextTurn()
    steps.push(cutCount() - before)
  }
  assert.ok(Math.max(...steps) <= 2, JSON.stringify(steps))
  for (const [isWritten, more] of await Promise.all(answers)) assert.deepEqual([isWritten, await more], [false, false])
  assert.ok(connections.every(({ written }) => written === 1))
})
