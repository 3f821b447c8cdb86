import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/support/service/data-folder.ts'
import { createLog } from '../../platform/log.ts'
import { startEmbeddedPostgres } from '../embedded-postgres.ts'
import { packagedBuild } from './binaries.ts'

test('the error for an unsupported platform suggests DATABASE_URL', () => {
  assert.throws(
    () => packagedBuild('sunos-sparc'),
    /embedded PostgreSQL is not available for sunos-sparc.*set DATABASE_URL/,
  )
})

test('the error for a missing package names the package', () => {
  const other = process.platform === 'darwin' ? 'linux-arm64' : 'darwin-arm64'
  assert.throws(() => packagedBuild(other), new RegExp(`@embedded-postgres/${other} is not installed.*--omit=optional`))
})

test('on a system with musl the error says that glibc is required', async () => {
  const home = temporaryFolder()
  mkdirSync(join(home, 'native', 'bin'), { recursive: true })
  writeFileSync(join(home, 'package.json'), '{"version":"18.4.0"}')
  // As with musl, the file is executable but its loader does not exist.
  writeFileSync(join(home, 'native', 'bin', 'postgres'), '#!/lib/no-such-loader\n', { mode: 0o755 })
  const start = startEmbeddedPostgres({
    dataDir: temporaryFolder(),
    log: createLog('silent'),
    native: join(home, 'native'),
  })
  await assert.rejects(start, /requires glibc.*set DATABASE_URL/)
})
