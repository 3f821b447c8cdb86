import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trySockets } from '../support/service/try-sockets.ts'
import { shellAgent } from '../support/sessions/shell-agent.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService()
const run = await shellAgent(service)
const opened = new Set((await run(trySockets)).text.trim().split('\n'))

test('the probe works: UNIX and IPv4 open', () => {
  assert.ok(opened.has('socket 1') && opened.has('socket 2'), [...opened].join(', '))
})

for (const [number, name] of [
  [17, 'PACKET'],
  [29, 'CAN'],
  [31, 'BLUETOOTH'],
  [38, 'ALG'],
  [40, 'VSOCK'],
  [44, 'XDP'],
] as const) {
  test(`AF_${name} is rejected`, () => {
    assert.ok(!opened.has(`socket ${number}`) && !opened.has(`pair ${number}`))
  })
}

test('so is every other family, NETLINK for other than interfaces, and the x32 call', () => {
  const allowed = ['socket 1', 'pair 1', 'socket 2', 'socket 10', 'socket 16']
  assert.deepEqual(
    [...opened].filter(line => !allowed.includes(line)),
    [],
  )
})
