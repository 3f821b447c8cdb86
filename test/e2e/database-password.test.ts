import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plantCanary, scan } from '../support/secrets/canaries.ts'
import { freshDatabase } from '../support/service/database.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

test('S40: the password of an external database is in no output, whether it is reached or not', async () => {
  const { canary, secret } = plantCanary('database password')
  const withPassword = (url: string): string => {
    const parsed = new URL(url.replace('@/', '@localhost/'))
    parsed.password = secret
    return parsed.href
  }
  const start = startService({
    databaseUrl: withPassword('postgres://someone@127.0.0.1:1/nothing'),
    args: ['--no-wait'],
  })
  const refusal = await start.then(
    () => assert.fail('it cannot start'),
    (error: Error) => error.message,
  )
  assert.match(refusal, /database/)
  const { url } = await freshDatabase()
  const external = await startService({ databaseUrl: withPassword(url), env: { LOG_LEVEL: 'trace' } })
  const ready = await send(external, 'GET /health/ready')
  await external.stop()
  const places = [
    ['refused start', refusal],
    ['answer', ready.text],
    ['log', external.logs()],
  ] as const
  assert.deepEqual(scan(places, [canary]).findings, [])
})
