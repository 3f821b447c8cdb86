import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { answerOf, kill, spawnServer, temporaryFolder } from '../../../../test/support/service/data-folder.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { createLog } from '../../platform/log.ts'
import { startEmbeddedPostgres } from '../embedded-postgres.ts'
import { otherAccount } from './account.ts'
import { packagedBuild } from './binaries.ts'
import { foldersOf } from './folders.ts'

const log = createLog('silent')
const isRoot = process.getuid?.() === 0
const idOf = (flag: '-u' | '-g') => Number(execFileSync('id', [flag, 'nobody']))
const nobody = { uid: idOf('-u'), gid: idOf('-g') }

async function serves(dataDir: string, native?: string): Promise<void> {
  const server = await startEmbeddedPostgres({ dataDir, log, ...(native && { native }) })
  const client = new Client({ connectionString: server.url })
  await client.connect()
  assert.equal((await client.query('select 1 as one')).rows[0]?.one, 1)
  await client.end()
  await server.stop()
}

/** An unpacked package whose install script did not run. */
function packageWithoutLinks(): string {
  const native = join(temporaryFolder(), 'native')
  const { folder } = packagedBuild()
  cpSync(folder, native, { recursive: true, verbatimSymlinks: true })
  cpSync(join(folder, '..', 'package.json'), join(native, '..', 'package.json'))
  for (const { target } of JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))) {
    rmSync(join(native, '..', target))
  }
  return native
}

test('the server starts from a package without library links, below a private folder', async () => {
  await serves(temporaryFolder(), packageWithoutLinks())
})

if (isRoot) {
  test('as root: the server starts on a data folder below one that only root may enter', async () => {
    await serves(join(temporaryFolder(), 'data'))
  })

  test('as root: a database that belongs to root after a restore can be used', async () => {
    const dataDir = temporaryFolder()
    await serves(dataDir)
    execFileSync('chown', ['-R', '0:0', join(dataDir, 'postgres')])
    await serves(dataDir)
  })

  test('S58: as root: no other user can connect, not even the user of the server', async () => {
    const dataDir = temporaryFolder()
    chmodSync(dataDir, 0o755)
    const server = await startEmbeddedPostgres({ dataDir, log })
    after(() => server.stop())
    const script = `
      import { Client } from ${JSON.stringify(import.meta.resolve('pg'))}
      new Client({ connectionString: ${JSON.stringify(server.url)} }).connect()
        .then(() => process.stdout.write('in'), error => process.stdout.write(String(error.code)))`
    const knock = (uid: number, gid: number) =>
      execFileSync(process.execPath, ['--input-type=module', '-e', script], { uid, gid, cwd: '/', encoding: 'utf8' })
    const { uid, gid } = statSync(join(dataDir, 'postgres'))
    assert.equal(knock(uid, gid), '28000')
    assert.equal(knock(nobody.uid, nobody.gid), 'EACCES')
    assert.equal(knock(1, 1), 'EACCES')
    await server.stop()
  })

  test('a normal user can run it, and gets an error if the data folder is not writable', async () => {
    const home = temporaryFolder()
    chmodSync(home, 0o755)
    const own = join(home, 'own')
    mkdirSync(own)
    chownSync(own, nobody.uid, nobody.gid)
    const child = spawnServer(join(own, 'data'), nobody)
    const { url, error } = await answerOf(child)
    assert.equal(error, undefined)
    assert.ok(url)
    await kill(child)
    const refused = await answerOf(spawnServer(join(home, 'data'), nobody))
    assert.match(refused.error ?? '', /cannot be used by user nobody: EACCES.*SWITCHYARD_DATA_DIR/)
  })

  test('a database of another user is rejected with the user and the next step', async () => {
    const dataDir = temporaryFolder()
    await serves(dataDir)
    const { uid } = statSync(join(dataDir, 'postgres'))
    chownSync(dataDir, 1, 1)
    const { error } = await answerOf(spawnServer(dataDir, { uid: 1, gid: 1 }))
    assert.match(error ?? '', new RegExp(`postgres belongs to user ${uid}, not to 1.*chown -R 1`))
  })

  /** Returns the owners of all files below a folder and the users of its server processes. */
  const ownersOf = (cluster: string): Set<number> => {
    const files = readdirSync(cluster, { recursive: true }).map(name => statSync(join(cluster, String(name))).uid)
    const server = Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0])
    return new Set([...files, statSync(cluster).uid, statSync(`/proc/${server}`).uid])
  }
  const sandboxUid = 65_533

  test('M6: as root: the user of files and server is neither nobody nor that of sandboxes', async () => {
    const dataDir = temporaryFolder()
    const server = await startEmbeddedPostgres({ dataDir, log })
    after(() => server.stop())
    const owners = ownersOf(join(dataDir, 'postgres'))
    assert.equal(owners.size, 1)
    for (const uid of [0, nobody.uid, 65_534, sandboxUid]) assert.ok(!owners.has(uid), String(uid))
    await server.stop()
  })

  test('M6: as root: a database of a shared user gets a separate user at the next start', async () => {
    const dataDir = temporaryFolder()
    await serves(dataDir)
    const cluster = join(dataDir, 'postgres')
    for (const shared of [nobody, { uid: sandboxUid, gid: sandboxUid }]) {
      execFileSync('chown', ['-R', `${shared.uid}:${shared.gid}`, cluster, join(dataDir, 'postgres-socket')])
      const server = await startEmbeddedPostgres({ dataDir, log })
      after(() => server.stop())
      const owners = ownersOf(cluster)
      assert.ok(owners.size === 1 && !owners.has(shared.uid), [...owners].join(' '))
      await server.stop()
    }
  })

  test('M6: as root: while a server of a shared user runs on the files, their owner is kept', async () => {
    const dataDir = temporaryFolder()
    await serves(dataDir)
    const cluster = join(dataDir, 'postgres')
    chownSync(cluster, nobody.uid, nobody.gid)
    assert.notEqual(otherAccount(cluster)?.uid, nobody.uid)
    const pretender = spawn('bash', ['-c', 'exec -a postgres sleep 60'], { stdio: 'ignore' })
    after(() => pretender.kill())
    await once(pretender, 'spawn')
    writeFileSync(join(cluster, 'postmaster.pid'), `${pretender.pid}\n`)
    await eventually(() => otherAccount(cluster)?.uid === nobody.uid)
  })

  test('M6: as root: without mount namespaces, as in most containers, the server also runs as a separate user', async () => {
    const dataDir = temporaryFolder()
    const child = spawnServer(dataDir, {}, ['setpriv', '--bounding-set=-sys_admin', '--'])
    const { error } = await answerOf(child)
    assert.equal(error, undefined)
    const owners = ownersOf(join(dataDir, 'postgres'))
    assert.ok(owners.size === 1 && !owners.has(nobody.uid) && !owners.has(0), [...owners].join(' '))
    await kill(child)
  })

  test('S58: as root: a socket folder of another user in the shared temp folder is rejected', async () => {
    const dataDir = join(temporaryFolder(), 'deep'.repeat(30))
    mkdirSync(dataDir)
    const { socket } = foldersOf(dataDir)
    symlinkSync('/etc', socket)
    after(() => rmSync(socket))
    await assert.rejects(startEmbeddedPostgres({ dataDir, log }), /belongs to another user/)
  })
}
