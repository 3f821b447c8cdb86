import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { prepareCluster } from './cluster.ts'
import type { Confinement } from './confinement.ts'

const log = { info() {}, warn() {} }

const confinement = {
  account: undefined,
  build: { folder: '', version: '18.4.0', major: 18 },
} as unknown as Confinement

for (const [what, write] of [
  ['empty', (file: string) => writeFileSync(file, '')],
  ['not a number', (file: string) => writeFileSync(file, 'eighteen\n')],
  ['a folder', (file: string) => mkdirSync(file)],
] as const) {
  test(`F2: a PG_VERSION that is ${what} is reported with the next step`, async t => {
    const dataDir = mkdtempSync(join(tmpdir(), 'switchyard-cluster-'))
    t.after(() => rmSync(dataDir, { recursive: true }))
    const cluster = join(dataDir, 'postgres')
    mkdirSync(cluster)
    write(join(cluster, 'PG_VERSION'))
    await assert.rejects(prepareCluster({ dataDir, cluster, maxConnections: 1, log }, confinement), {
      message: /PG_VERSION does not contain a PostgreSQL version; restore a backup/,
    })
  })
}
