import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keepBusy } from '../support/service/busy-processors.ts'
import { startService } from '../support/service/service.ts'
import { shellAgent } from '../support/sessions/shell-agent.ts'
import { configFor } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
after(() => upstream.stop())
const config = JSON.stringify({ ...JSON.parse(configFor(upstream)), limits: { sandbox_cpus: 0.5 } })
const run = await shellAgent(await startService({ config }))

test('four busy processes of a command get the half processor of limits.sandbox_cpus between them', async () => {
  const used = Number((await run(keepBusy)).text)
  assert.ok(used > 0 && used < 0.7, String(used))
})
