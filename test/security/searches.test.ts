import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allRoutes } from '../../src/contract/api.ts'
import { send, sendOk } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const service = await startService()
const made = async (line: string, body: object) => (await sendOk<{ id: string }>(service, line, { body })).id

/** Names that a pattern language would find by more than their own text. */
const names = [
  'ordinary',
  '100% sure',
  'under_score',
  'back\\slash',
  '(a+)+$',
  'a.b',
  '[x]',
  "quote'd",
  'İstanbul',
] as const
const agent = await made('POST /api/agents', { name: 'keeper', owner_id: 'me', model: 'demo' })
const session = await made('POST /session', { agent, prompt: 'Create hello.txt' })
await sendOk(service, `GET /v1/sessions/${session}/events?types=session.status_idle&wait=60`)
for (const [at, name] of names.entries()) {
  await made('POST /api/agents', { name, owner_id: 'me', model: 'demo' })
  await made('POST /session', { agent, title: name })
  await made('POST /api/keys', { label: name })
  // Their owners are searched as well.
  await made('POST /api/users', { name, owner_id: `person${at}` })
  await made('POST /api/teams', { name, owner_id: `group${at}` })
  await made(`POST /api/v1/managed_agents/agents/${agent}/memory`, { text: name })
  await sendOk(service, `PUT /api/sessions/${session}/files/${encodeURIComponent(name)}.txt`, {
    body: `${name}\n`,
    headers: { 'content-type': 'application/octet-stream' },
  })
}

/** Every search, with the texts in its answer. */
const searches: Readonly<Record<string, (text: string) => string>> = {
  'agents.list': text => `GET /api/agents?q=${text}`,
  'keys.list': text => `GET /api/keys?q=${text}`,
  'users.list': text => `GET /api/users?q=${text}`,
  'teams.list': text => `GET /api/teams?q=${text}`,
  'memories.list': text => `GET /api/v1/managed_agents/agents/${agent}/memory?q=${text}`,
  'sessions.list': text => `GET /session?q=${text}`,
  'sessions.summaries': text => `GET /api/sessions?q=${text}`,
  'managed_sessions.list': text => `GET /api/v1/managed_agents/sessions?q=${text}`,
  'opencode.find_text': text => `GET /find?workspace=${session}&pattern=${text}`,
  'opencode.find_files': text => `GET /find/file?workspace=${session}&query=${text}`,
}

const expected: Readonly<Record<string, readonly string[]>> = {
  '%': ['100% sure'],
  _: ['under_score'],
  '\\': ['back\\slash'],
  '(a+)+$': ['(a+)+$'],
  '.*': [],
  'a.b': ['a.b'],
  '[x]': ['[x]'],
  '[a-z]': [],
  '^o': [],
  "e'd": ["quote'd"],
  "' or 1=1 --": [],
}

test('S52: every search of the API is checked', () => {
  const words = ['q', 'query', 'pattern', 'search']
  const found = allRoutes.filter(({ query }) =>
    words.some(word => word in ((query as { properties?: object } | undefined)?.properties ?? {})),
  )
  assert.deepEqual(found.map(({ id }) => id).toSorted(), Object.keys(searches).toSorted())
})

for (const [id, lineOf] of Object.entries(searches)) {
  test(`S52: ${id}: a search text is found as it is, and is no pattern`, async () => {
    for (const [text, wanted] of Object.entries(expected)) {
      const answer = await send(service, lineOf(encodeURIComponent(text)))
      assert.equal(answer.status, 200, `${text}: ${answer.text}`)
      const shown = JSON.stringify(answer.json())
      const found = names.filter(name => shown.includes(JSON.stringify(name).slice(1, -1)))
      assert.deepEqual(found, wanted, `${text}: ${shown.slice(0, 500)}`)
    }
  })
}
