import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../support/service/data-folder.ts'
import { shellAgent } from '../support/sessions/shell-agent.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'

const secret = 'only-for-the-launcher-7b40'
const file = join(temporaryFolder(), 'secret')
await writeFile(file, secret, { mode: 0o600 })
const launcher = `exec 9<'${file}' 63<'${file}' 200<'${file}' 201</; exec "$@"`
const { service } = await startScriptedService({ launcher })
const run = await shellAgent(service)

for (const number of [9, 63, 200]) {
  test(`descriptor ${number} of the launcher is closed in the tool bash`, async () => {
    const { text } = await run(`cat <&${number}; cat /proc/self/fd/${number} /proc/*/fd/${number}`)
    assert.ok(!text.includes(secret), text)
  })
}

test('no folder of the host is reached by a descriptor', async () => {
  const { text } = await run('for fd in /proc/[0-9]*/fd/*; do ls "$fd/etc" && echo reached; done')
  assert.doesNotMatch(text, /reached/)
})
