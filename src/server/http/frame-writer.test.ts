import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { FrameWriter } from './frame-writer.ts'

/** A connection that takes each frame 20 ms after it was written. */
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

async function framesTaken(bytes: number, most: number): Promise<number> {
  const connection = new SlowConnection()
  const writer = new FrameWriter(connection as unknown as ServerResponse, new AbortController().signal, 200)
  for (let count = 0; count < most; count++) {
    if (!(await writer.write(Buffer.alloc(bytes)))) {
      assert.ok(connection.isCut)
      return count
    }
  }
  return most
}

test('V2: a reader that takes a little now and then is cut all the same', async () => {
  assert.ok((await framesTaken(1_000, 1_000)) < 1_000)
})

test('V2: a reader that takes much is not cut, however long it is waited for in all', async () => {
  assert.equal(await framesTaken(1024 * 1024, 30), 30)
})
