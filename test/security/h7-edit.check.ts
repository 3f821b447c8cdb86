import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { toolSession } from '../support/sessions/tool-session.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'
import { answersInTime } from './beside.ts'

const { service } = await startScriptedService()
const session = await toolSession(service)
const MiB = 1024 * 1024
await session.run({
  name: 'bash',
  input: { command: 'head -c 10000000 /dev/zero | tr "\\\\0" a | tee a b c d e f g | wc -c' },
})

const edit = (file_path: string, old_string: string, new_string: string) => ({
  name: 'edit',
  input: { file_path, old_string, new_string, replace_all: true },
})

/** Resident memory of the service in bytes. */
const residentBytes = () =>
  1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1])

test('H7: edits that multiply a file seven times in parallel are rejected within bounded memory', async () => {
  const before = residentBytes()
  let most = before
  let isOver = false
  const watching = (async () => {
    for (; !isOver; await sleep(5)) most = Math.max(most, residentBytes())
  })()
  const results = await session.run(...[...'abcdefg'].map(name => edit(name, 'a', 'x'.repeat(50))))
  isOver = true
  await watching
  for (const text of results) assert.match(text, /would have 500000000 bytes/)
  assert.ok(most - before < 400 * MiB, `the service grew by ${Math.round((most - before) / MiB)} MiB`)
})

test('H7: an edit that multiplies a file is answered in time', async () => {
  await answersInTime(service, () => session.run(edit('a', 'a', 'x'.repeat(50))))
})

test('H7: an edit whose text nearly fits everywhere is answered in time', async () => {
  const texts: string[] = []
  await answersInTime(service, async () => {
    texts.push(...(await session.run(edit('a', `b${'a'.repeat(20_000)}`, ''))))
  })
  for (const text of texts) assert.match(text, /not found/)
})
