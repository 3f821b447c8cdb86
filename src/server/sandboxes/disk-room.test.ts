import assert from 'node:assert/strict'
import { statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { smallVolume } from '../../../test/support/service/small-volume.ts'
import { markDisk, watchDisk } from './disk-room.ts'

const MiB = 1024 * 1024

test('a command that was stopped in the middle of a write leaves space for the next one', async () => {
  const volume = smallVolume(200)
  assert.ok(volume, 'this user may not mount a file system')
  try {
    const { clear } = await markDisk(volume.folder, { freeDiskBytes: 1024 * MiB, freeDiskFiles: 0 })
    // The interrupted write freed enough to be above the floor of 100 MiB.
    for (let file = 0; file < 12; file++) writeFileSync(join(volume.folder, `f${file}`), Buffer.alloc(8 * MiB))
    assert.equal(await clear(), 3)
    const { bavail, bsize } = statfsSync(volume.folder)
    assert.ok(bavail * bsize >= 125 * MiB)
    assert.equal(await clear(), 0)
  } finally {
    volume.unmount()
  }
})

test('a disk that a command filled before the first look at it is full', async () => {
  const volume = smallVolume(100)
  assert.ok(volume, 'this user may not mount a file system')
  const floors = { freeDiskBytes: 1024 * MiB, freeDiskFiles: 0 }
  const { floor, isBelowFloor } = await markDisk(volume.folder, floors)
  for (let file = 0; file < 4; file++) writeFileSync(join(volume.folder, `f${file}`), Buffer.alloc(10 * MiB))
  assert.equal(await isBelowFloor(), false, 'more than half of the room is left')
  for (let file = 4; file < 9; file++) writeFileSync(join(volume.folder, `f${file}`), Buffer.alloc(10 * MiB))
  assert.equal(await isBelowFloor(), true)
  let stop = async () => {}
  try {
    await new Promise<void>(resolve => {
      stop = watchDisk(volume.folder, { floors, floor, full: resolve })
    })
  } finally {
    await stop()
    volume.unmount()
  }
})
