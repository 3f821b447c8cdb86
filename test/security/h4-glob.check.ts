import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolSession } from '../support/sessions/tool-session.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'
import { answersInTime } from './beside.ts'

const { service } = await startScriptedService()
const session = await toolSession(service)
const names =
  'for i in $(seq 300); do touch "$(printf "a%.0s" $(seq 236))$i" "$(printf "%s" $i$i$i$i | tr 0-9 a-d | head -c 200)"; done; ls | wc -l'
const [made] = await session.run({ name: 'bash', input: { command: names } })
assert.ok(Number(made) > 300, made)

const hostile: readonly (readonly [what: string, pattern: string])[] = [
  ['nested alternatives', `${'{*a,{*b,*a*}}'.repeat(3)}${'*a'.repeat(20)}c`],
  ['many stars', `${'*a'.repeat(450)}c`],
  [
    'question marks behind stars',
    `{${Array.from({ length: 40 }, (_, at) => `*${'?'.repeat(at % 18)}a*b`).join(',')}}c`,
  ],
  ['long sets', `*[!${'b-cd-e'.repeat(150)}]${'*a'.repeat(40)}c`],
  ['too many alternatives', '{a,b}'.repeat(150)],
]

for (const [what, pattern] of hostile) {
  test(`H4: a glob with ${what} is answered in time`, async () => {
    await answersInTime(service, async () => {
      const [text = ''] = await session.run({ name: 'glob', input: { pattern } })
      assert.match(text, /No files found|too complex|alternatives/)
    })
  })
}

test('H4: a grep with an expression that backtracks is answered in time', async () => {
  await answersInTime(service, async () => {
    await session.run({ name: 'bash', input: { command: `printf '${'a'.repeat(2_000)}' > text` } })
    await session.run({ name: 'grep', input: { pattern: '^(a+)+$b', path: 'text' } })
  })
})

test('H4: a workspace with a long line of spaces in its list of ignored files is saved in time', async () => {
  const command = "printf '%65000s\\n' x > .switchyardignore"
  await answersInTime(service, () => session.run({ name: 'bash', input: { command } }))
})
