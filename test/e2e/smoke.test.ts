import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startScriptedUpstream } from '../support/scripted-upstream.ts'
import { configFor } from '../support/models.ts'
import { startService } from '../support/service.ts'
import { send } from '../support/send.ts'
import { followEvents } from '../support/event-tail.ts'
test('x', async () => {
  const up = await startScriptedUpstream()
  const s = await startService({ config: configFor(up) })
  console.log(s.url, s.pid)
  console.log((await send(s, 'GET /v1/models')).text)
  const r = await send(s, 'POST /session', { body: { prompt: '[[[{"tool_calls":[{"name":"bash","input":{"command":"echo hi; sleep 0.2"}},{"name":"write","input":{"file_path":"a.txt","content":"x"}}]},{"text":"done"}]]]' } })
  console.log(r.text)
  const id = r.json<{ id: string }>().id
  const tail = await followEvents(s, id)
  await tail.event('session.status_idle')
  console.log(tail.text)
  tail.close()
  console.log(s.logs())
  console.log('stop', await s.stop())
  await up.stop()
  assert.ok(true)
})
