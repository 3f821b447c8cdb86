import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/data-folder.ts'
import { createLog } from '../../platform/log.ts'
import { startEmbeddedPostgres } from '../embedded-postgres.ts'
import { packagedBuild } from './binaries.ts'

test('a platform without a build is told to bring its own PostgreSQL', () => {
  assert.throws(() => packagedBuild('sunos-sparc'), /no embedded PostgreSQL for sunos-sparc.*set DATABASE_URL/)
})

test('a package that was left out of the install is named', () => {
  const other = process.platform === 'darwin' ? 'linux-arm64' : 'darwin-arm64'
  assert.throws(() => packagedBuild(other), new RegExp(`@embedded-postgres/${other} is not installed.*--omit=optional`))
})

test('on a system with musl the message says that glibc is needed', async () => {
  const home = temporaryFolder()
  mkdirSync(join(home, 'native', 'bin'), { recursive: true })
  writeFileSync(join(home, 'package.json'), '{"version":"18.4.0"}')
  // As there, the file can be run but its loader does not exist.
  writeFileSync(join(home, 'native', 'bin', 'postgres'), '#!/lib/no-such-loader\n', { mode: 0o755 })
  const start = startEmbeddedPostgres({
    dataDir: temporaryFolder(),
    log: createLog('silent'),
    native: join(home, 'native'),
  })
  await assert.rejects(start, /needs glibc.*set DATABASE_URL/)
})
