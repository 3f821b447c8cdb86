import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { createPackCache, type PackKey } from './pack-cache.ts'

const parent = await mkdtemp(join(tmpdir(), 'switchyard-packs-'))
after(() => rm(parent, { recursive: true, force: true }))
const key = (changes: Partial<PackKey> = {}): PackKey => ({
  ownerId: 'ada',
  credential: 'token',
  url: 'https://git.example.com/a/b',
  body: Buffer.from('want'),
  ...changes,
})

test('an entry is available once it is complete, and only where everything is equal', async () => {
  const folder = join(parent, 'one')
  const cache = createPackCache({ folder, maxBytes: 1000, maxEntryBytes: 100 })
  assert.equal(await cache.read(key()), undefined)
  const write = await cache.write(key())
  await write.add(Buffer.from('pack '))
  await write.add(Buffer.from('data'))
  assert.equal(await cache.read(key()), undefined)
  await write.commit()
  await write.abort()
  const stored = await cache.read(key())
  assert.ok(stored)
  assert.equal((await buffer(stored)).toString(), 'pack data')
  const other = [{ ownerId: 'bob' }, { credential: undefined }, { credential: 'tokens' }, { url: 'https://x' }]
  for (const changes of [...other, { body: Buffer.from('want2') }])
    assert.equal(await cache.read(key(changes)), undefined, JSON.stringify(changes))
  assert.doesNotMatch((await readdir(folder)).join(), /token|ada/)
})

test('an interrupted or too large response leaves nothing', async () => {
  const folder = join(parent, 'two')
  const cache = createPackCache({ folder, maxBytes: 1000, maxEntryBytes: 10 })
  const cut = await cache.write(key())
  await cut.add(Buffer.from('half'))
  await cut.abort()
  const large = await cache.write(key())
  await large.add(Buffer.alloc(11))
  await large.add(Buffer.alloc(1))
  await large.commit()
  assert.deepEqual(await readdir(folder), [])
})

test('the least recently used entries go first', async () => {
  const folder = join(parent, 'three')
  const cache = createPackCache({ folder, maxBytes: 25, maxEntryBytes: 100 })
  const put = async (name: string) => {
    const write = await cache.write(key({ url: name }))
    await write.add(Buffer.alloc(10))
    await write.commit()
  }
  await put('a')
  await put('b')
  for (const name of await readdir(folder)) await utimes(join(folder, name), 1, 1)
  const used = await cache.read(key({ url: 'a' }))
  used?.resume()
  await put('c')
  assert.ok(await cache.read(key({ url: 'a' })).then(stream => stream?.destroy()))
  assert.equal(await cache.read(key({ url: 'b' })), undefined)
})
