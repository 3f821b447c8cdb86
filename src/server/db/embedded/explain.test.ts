import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explain, isTransient } from './explain.ts'

const table = [
  [
    'a full disk',
    'FATAL:  could not write lock file "postmaster.pid": No space left on device',
    /disk is full.*free some space/,
  ],
  ['an old C library', "postgres: /lib/libc.so.6: version `GLIBC_2.27' not found", /C library.*too old.*DATABASE_URL/],
  ['a user without a name', 'initdb: error: could not look up effective user ID 12345', /no entry in \/etc\/passwd/],
  ['a read-only disk', 'FATAL:  could not create lock file: Read-only file system', /read-only.*SWITCHYARD_DATA_DIR/],
  ['files of another user', 'FATAL:  data directory "/d/postgres" has wrong ownership', /permission denied/],
  ['damaged files', 'PANIC:  could not locate a valid checkpoint record', /damaged.*restore a backup/],
  ['anything else', 'FATAL:  something new', /DATABASE_URL/],
] as const

for (const [name, output, expected] of table) {
  test(`the message for ${name} has the data folder, the next step and the output of the server`, () => {
    const { message } = explain({ doing: 'starting the database', dataDir: '/var/lib/switchyard', output })
    assert.match(message, expected)
    assert.match(message, /\/var\/lib\/switchyard/)
    assert.ok(message.endsWith(output))
  })
}

test('the lock of a server that is shutting down is transient, a full disk is not', () => {
  assert.equal(isTransient('FATAL:  lock file "postmaster.pid" already exists'), true)
  assert.equal(isTransient('FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use'), true)
  assert.equal(isTransient('FATAL:  could not write: No space left on device'), false)
})
