import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFile } from './file.ts'
import { workspacesOfFile } from './workspaces-of-file.ts'

function read(workspaces: object) {
  const problems: string[] = []
  const file = { ...emptyFile, value: { workspaces } }
  return { settings: workspacesOfFile({ file, report: text => problems.push(text) }), problems }
}

const s3 = { endpoint: 'https://s3.example.com/', bucket: 'files', access_key_id: 'a', secret_access_key: 's' }

test('content is stored in the database by default', () => {
  const { settings, problems } = read({})
  assert.deepEqual([settings.writesBucket, settings.bucket, settings.files, problems], [false, undefined, 20_000, []])
})

test('a bucket has a default region and no prefix; without store s3 it is only read', () => {
  const { settings, problems } = read({ store: 's3', s3 })
  assert.deepEqual(problems, [])
  assert.deepEqual([settings.writesBucket, settings.bucket?.region, settings.bucket?.prefix], [true, 'us-east-1', ''])
  assert.equal(settings.bucket?.endpoint, 'https://s3.example.com')
  assert.deepEqual([read({ s3 }).settings.writesBucket, read({ s3 }).settings.bucket?.bucket], [false, 'files'])
})

const wrong: readonly (readonly [object, string])[] = [
  [{ store: 'disk' }, 'workspaces.store must be postgres or s3'],
  [
    { store: 's3' },
    'workspaces.s3 is required with store s3: set endpoint, bucket, access_key_id and secret_access_key',
  ],
  [{ s3: { ...s3, bucket: undefined } }, 'workspaces.s3.bucket is required'],
  [{ s3: { ...s3, endpoint: 'ftp://x' } }, 'workspaces.s3.endpoint must be an https:// or http:// address'],
  [
    { s3: { ...s3, bucket: 'Up/down' } },
    'workspaces.s3.bucket must be a bucket name of 3 to 63 lower-case letters, digits, . and -',
  ],
  [
    { s3: { ...s3, prefix: '../x' } },
    'workspaces.s3.prefix must consist of names of letters, digits, _ and -, each followed by /',
  ],
]
for (const [given, problem] of wrong) {
  test(problem, () => assert.deepEqual(read(given).problems, [problem]))
}
