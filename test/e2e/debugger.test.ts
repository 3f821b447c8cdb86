import assert from 'node:assert/strict'
import { test } from 'node:test'
import { opensDebugger } from '../support/service/inspector.ts'
import { startService } from '../support/service/service.ts'

test('L5: SIGUSR1 opens no debugger in a service that was started without the launcher, and does not end it', async () => {
  const service = await startService()
  assert.equal(await opensDebugger(service.pid, service.logs), false)
  assert.equal((await fetch(`${service.url}/health/live`)).status, 200)
})
