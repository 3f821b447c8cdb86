import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createOpencodeClient } from '@opencode-ai/sdk'
import { createOpencodeClient as createNewClient } from '@opencode-ai/sdk/v2'
import { startOpencodeFake } from './opencode-fake.ts'

const headers = { authorization: `Basic ${Buffer.from('opencode:secret').toString('base64')}` }

async function started(older: boolean) {
  const fake = await startOpencodeFake({
    password: 'secret',
    turns: [
      [
        {
          thinking: 'Hm.',
          text: ['I ', 'look.'],
          tools: [{ name: 'bash', input: { command: 'ls' }, permissions: ['bash'], older }],
        },
        { text: ['Done.'] },
      ],
    ],
  })
  after(() => fake.stop())
  return { fake, client: createOpencodeClient({ baseUrl: fake.url, headers }) }
}

for (const older of [false, true]) {
  test(`the official client runs a turn with the fake${older ? ', with the older way to ask' : ''}`, async () => {
    const { fake, client } = await started(older)
    const newClient = createNewClient({ baseUrl: fake.url, headers })
    const made = await client.session.create({ body: { title: 'T' }, throwOnError: true })
    const path = { id: made.data.id }
    const { stream } = await client.event.subscribe()
    const parts = [{ type: 'text' as const, text: 'Go' }]
    const types: string[] = []
    for await (const event of stream) {
      if (types.at(-1) !== event.type) types.push(event.type)
      if (event.type === 'server.connected') {
        const sent = await client.session.promptAsync({ path, body: { parts }, throwOnError: true })
        assert.equal(sent.response.status, 204)
      } else if (event.type === 'permission.updated') {
        const named = { ...path, permissionID: event.properties.id }
        await client.postSessionIdPermissionsPermissionId({
          path: named,
          body: { response: 'once' },
          throwOnError: true,
        })
      } else if ((event.type as string) === 'permission.asked') {
        const [asked] = (await newClient.permission.list({}, { throwOnError: true })).data
        await newClient.permission.reply({ requestID: asked?.id ?? '', reply: 'once' }, { throwOnError: true })
      } else if (event.type === 'session.idle') break
    }
    assert.deepEqual(
      types.filter(type => !type.startsWith('message.')),
      [
        'server.connected',
        'session.status',
        older ? 'permission.updated' : 'permission.asked',
        'permission.replied',
        'session.status',
        'session.idle',
      ],
    )
    const { data: messages } = await client.session.messages({ path, throwOnError: true })
    assert.deepEqual(
      messages.map(({ info, parts: shown }) => [info.role, shown.map(({ type }) => type)]),
      [
        ['user', ['text']],
        ['assistant', ['step-start', 'reasoning', 'text', 'tool', 'step-finish']],
        ['assistant', ['step-start', 'text', 'step-finish']],
      ],
    )
    const { data: statuses } = await client.session.status({ throwOnError: true })
    assert.deepEqual(statuses, {})
    assert.equal((await client.session.abort({ path, throwOnError: true })).data, true)
    assert.equal((await client.session.delete({ path, throwOnError: true })).data, true)
    assert.equal((await client.session.messages({ path })).response.status, 404)
  })
}
