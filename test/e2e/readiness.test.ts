import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

test('V7: readiness is 503 while the database is read-only; deleting a session frees its files all the same (H6)', async () => {
  const database = await freshDatabase()
  const service = await startService({ databaseUrl: database.url })
  const name = new URL(database.url.replace('@/', '@localhost/')).pathname.slice(1)
  const cutAll = `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()`
  const setReadOnly = async (value: 'on' | 'off') => {
    const client = await database.pool.connect()
    try {
      await client.query('set transaction_read_only = off')
      await client.query(`set default_transaction_read_only = off`)
      await client.query(`alter database ${name} set default_transaction_read_only = ${value}`)
      await client.query(cutAll, [name])
    } finally {
      client.release(true)
    }
  }
  const readiness = async () => {
    const { status, text } = await send(service, 'GET /health/ready')
    return `${status} ${text}`
  }
  try {
    assert.match(await readiness(), /^200/)
    const { id } = (await send(service, 'POST /session', { body: {} })).json<{ id: string }>()
    const workspace = join(service.dataDir, 'workspaces', id)
    await mkdir(workspace, { recursive: true })
    await setReadOnly('on')
    const reason = await eventually(async () => {
      const answer = await readiness()
      return answer.includes('read-only') && answer
    })
    assert.equal(reason, '503 {"status":"unavailable","reasons":["database is read-only"]}')
    assert.equal((await send(service, 'POST /session', { body: {} })).status, 503)
    assert.equal((await send(service, `DELETE /session/${id}`)).status, 503)
    assert.ok(!existsSync(workspace), 'the files of the session are still there')
    await setReadOnly('off')
    await eventually(async () => (await readiness()).startsWith('200'))
    assert.equal((await send(service, `DELETE /session/${id}`)).status, 200)
  } finally {
    await service.stop()
  }
})
