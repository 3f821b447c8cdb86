import { test } from 'node:test'
import { assertStopped, onSmallDisk } from '../support/service/full-disk.ts'

test('H6: files that a command wrote to fill the disk are deleted, and the service keeps running', () =>
  // The database and the files share the volume.
  onSmallDisk({ mebibytes: 700, databaseUrl: '' }, disk => assertStopped(disk, { withinMs: 20_000 })))
