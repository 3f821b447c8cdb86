import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { lack } from '../../../test/support/service/lack.ts'
import { maxFileBytes } from './sandbox.ts'
import { sandboxesForTests, temporaryFolder } from './sandboxes-for-tests.ts'
import { workspaceFiles } from './workspace-files.ts'

const none = new Set<string>()

/** Creates a workspace and a folder next to it that must never be reached. */
async function setUp() {
  const base = await temporaryFolder()
  const root = join(base, 'ses')
  const outside = join(base, 'ses2')
  await mkdir(root)
  await mkdir(outside)
  await writeFile(join(outside, 'secret'), 'untouched')
  const untouched = async () => {
    assert.deepEqual(await readdir(outside), ['secret'])
    assert.equal(await readFile(join(outside, 'secret'), 'utf8'), 'untouched')
  }
  return { root, outside, untouched, files: workspaceFiles(root) }
}

const refused = { code: 'invalid_request' }

test('a written file can be read, also by its path inside the sandbox', async () => {
  const { files } = await setUp()
  assert.equal(await files.write('a/b/c.txt', 'one'), 'created')
  assert.equal(await files.write('/workspace/a/b/c.txt', 'two'), 'replaced')
  assert.equal(String(await files.read('a/b/c.txt')), 'two')
})

test('S34: links that lead out are rejected for reading, writing, changing and listing', async () => {
  const { root, outside, untouched, files } = await setUp()
  await mkdir(join(root, 'deep'))
  const links = [
    ['to-file', join(outside, 'secret')],
    ['to-folder', outside],
    ['relative', '../ses2'],
    ['relative-file', '../ses2/secret'],
    ['deep/up', '../../ses2'],
    ['chain', 'relative'],
    ['loop', 'loop'],
    ['dots', 'deep/../../ses2'],
    ['root', '/'],
    ['prefix', '/workspace2'],
    ['proc', '/proc/self/cwd'],
    ['dangling', join(outside, 'new')],
  ] as const
  for (const [name, target] of links) await symlink(target, join(root, name))
  for (const [name] of links) {
    for (const path of [name, `${name}/secret`, `${name}/new/file`]) {
      await assert.rejects(files.read(path), refused, `read ${path}`)
      await assert.rejects(files.write(path, 'x'), refused, `write ${path}`)
      await assert.rejects(
        files.update(path, async () => Buffer.from('x')),
        refused,
        `update ${path}`,
      )
      await assert.rejects(files.list(path, { skip: none }), refused, `list ${path}`)
    }
  }
  await untouched()
})

test('links inside the workspace are followed', async () => {
  const { root, files } = await setUp()
  await files.write('real/file', 'one')
  await symlink('/workspace/real', join(root, 'absolute'))
  await symlink('real/../real/file', join(root, 'relative'))
  await files.write('absolute/file', 'two')
  await files.write('relative', 'three')
  assert.equal(String(await files.read('real/file')), 'three')
  assert.deepEqual((await files.list('absolute', { skip: none })).paths, ['file'])
})

test('S34: no write leaves the workspace while a command swaps a folder for a link', {
  skip: lack('bubblewrap'),
}, async () => {
  const sandboxes = await sandboxesForTests('bubblewrap')
  const sandbox = await sandboxes.open('ses_race')
  const outside = await temporaryFolder()
  // The folder is world-writable, so only the path resolution protects it.
  await chmod(outside, 0o777)
  const stop = new AbortController()
  const swap = `mkdir -p real; while :; do rm -rf d; ln -s ${outside} d; rm -f d; mkdir d; done`
  const swapping = sandbox.exec({ command: swap, signal: stop.signal })
  let written = 0
  let refusals = 0
  while (written < 100 || refusals < 100) {
    await sandbox.files.write(`d/${written}`, 'x').then(
      () => written++,
      () => refusals++,
    )
  }
  stop.abort()
  await swapping
  assert.deepEqual(await readdir(outside), [])
})

test('pipes, devices, folders and large files are rejected at once', async () => {
  const { root, files } = await setUp()
  execFileSync('mkfifo', [join(root, 'pipe')])
  await mkdir(join(root, 'folder'))
  await writeFile(join(root, 'large'), '')
  await truncate(join(root, 'large'), 2 ** 40)
  for (const name of ['pipe', 'folder', 'large', '.', 'missing', 'folder/missing']) {
    await assert.rejects(files.read(name), refused, name)
  }
  for (const name of ['pipe', 'folder', '.']) await assert.rejects(files.write(name, 'x'), refused, name)
  await files.write('plain', 'x')
  await assert.rejects(files.write('plain/below', 'x'), refused)
})

test('writing preserves the permissions of a file and leaves no temporary file', async () => {
  const { root, files } = await setUp()
  await files.write('run.sh', 'one')
  await chmod(join(root, 'run.sh'), 0o755)
  await files.write('run.sh', 'two')
  assert.equal((await stat(join(root, 'run.sh'))).mode & 0o777, 0o755)
  await assert.rejects(files.write('x'.repeat(256), ''), refused)
  assert.deepEqual(await readdir(root), ['run.sh'])
})

test('parallel updates of one file are all applied', async () => {
  const { files } = await setUp()
  await files.write('count', '')
  await Promise.all(Array.from({ length: 50 }, () => files.update('count', async old => Buffer.from(`${old}x`))))
  assert.equal(String(await files.read('count')), 'x'.repeat(50))
})

test('a list is sorted, skips the given folders and does not follow links', async () => {
  const { root, outside, files } = await setUp()
  for (const path of ['b', 'a/c', 'skip/d', 'a/skip/e']) await files.write(path, '')
  await symlink(outside, join(root, 'link'))
  assert.deepEqual(await files.list('.', { skip: new Set(['skip']) }), { paths: ['a/c', 'b', 'link'], complete: true })
})

test('a tree that is too deep is listed partly and marked incomplete', async () => {
  const { files } = await setUp()
  await files.write(`${'d/'.repeat(60)}end`, '')
  await files.write('near', '')
  assert.deepEqual(await files.list('.', { skip: none }), { paths: ['near'], complete: false })
})

test('H7: content over 10 MiB is rejected before it is written', async () => {
  const { files } = await setUp()
  const large = Buffer.alloc(maxFileBytes + 1, 'x')
  for (const content of [large, large.toString()])
    await assert.rejects(files.write('large', content), { code: 'invalid_request', message: /exceeds 10 MiB/ })
  await assert.rejects(files.read('large'), /file or folder does not exist/)
})
