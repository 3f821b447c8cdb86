import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole, startConsole } from '../support/console/browser.ts'
import { visit } from '../support/console/console-pages.ts'
import { hostileTexts } from '../support/console/hostile-texts.ts'
import { sendOk } from '../support/service/send.ts'
import { configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
after(() => upstream.stop())
const service = await startConsole({ config: configFor(upstream), key: null })
/** Names must not contain control characters. */
const names = hostileTexts.filter(text => !/\p{Cc}/u.test(text) && text.length < 150).slice(0, 60)

const post = <Answer>(path: string, body: object): Promise<Answer> => sendOk(service, `POST ${path}`, { body })

const pick = (at: number): string => names[at % names.length] ?? ''
const inParts = (texts: readonly string[], size: number): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(texts.length / size) }, (_, at) => texts.slice(at * size, (at + 1) * size))

/** An agent, a session with every text as message and as output of a tool, and objects with hostile names and texts. */
async function prepare() {
  const tools = [{ type: 'agent_toolset_20260401' }]
  const [agent = ''] = await Promise.all(
    [0, 1, 2, 3].map(async at => {
      const body = {
        name: pick(at),
        owner_id: pick(at + 4),
        model: 'scripted',
        tools,
        system: pick(at + 8),
        description: pick(at),
      }
      return (await post<{ id: string }>('/api/agents', body)).id
    }),
  )
  await Promise.all(
    names.slice(0, 20).map(title => post('/session', { agent_id: agent, title, prompt: saying({ text: title }) })),
  )
  const answers = inParts(hostileTexts, 40).flatMap(texts => [
    {
      thinking: texts.join('\n'),
      text: texts.join('\n\n'),
      tool_calls: [
        {
          name: 'write',
          input: { file_path: `${texts[2]?.replaceAll(/[/\0]/g, '_').slice(0, 80)}.html`, content: texts.join('\n') },
        },
      ],
    },
    {
      tool_calls: [
        { name: 'bash', input: { command: `cat *.html; false; echo '${texts[0]?.replaceAll("'", '')}' >&2` } },
      ],
    },
  ])
  const prompt = saying(...answers, { text: 'The last answer.' })
  const { id: session } = await post<{ id: string }>('/session', { agent_id: agent, title: pick(3), prompt: 'x' })
  await post(`/session/${session}/message`, { parts: [{ type: 'text', text: prompt }] })
  for (const name of names.slice(0, 30)) {
    const path = encodeURIComponent(name.replaceAll('/', '_').slice(0, 60))
    await sendOk(service, `PUT /api/sessions/${session}/files/${path}`, { body: hostileTexts.join('\n') })
  }
  await post('/api/v1/skills', {
    name: 'hostile',
    description: pick(5),
    content: hostileTexts.slice(0, 60).join('\n\n'),
  })
  const memories = await Promise.all(
    inParts(hostileTexts, 40).map((texts, at) =>
      post<{ id: string }>(`/api/v1/managed_agents/agents/${agent}/memory`, {
        text: texts.join('\n'),
        type: pick(at),
        tags: [pick(at), pick(at + 1)],
      }),
    ),
  )
  const payload = Object.fromEntries(hostileTexts.map(text => [text, text]))
  const headers = { 'x-github-event': pick(0), 'x-sender': pick(1) }
  const delivery = await post<{ id: string }>('/api/deliveries', { agent_id: agent, payload, headers })
  return { agent, session, memory: memories[0]?.id, delivery: delivery.id }
}

/** Runs in the page: scrolls everything by its height, and returns whether anything moved, once that is rendered. */
const scrolled = (direction: 1 | -1): string => `new Promise(done => {
  let hasMoved = false
  for (const element of document.querySelectorAll('*')) {
    const before = element.scrollTop
    element.scrollTop += ${direction} * element.clientHeight
    if (element.scrollTop !== before) hasMoved = true
  }
  requestAnimationFrame(() => requestAnimationFrame(() => done(hasMoved)))
})`

/** Scrolls everything to its start and then to its end in steps, so that each row was in the document. */
async function scrollThrough(page: Page): Promise<void> {
  for (const direction of [-1, 1] as const)
    for (let steps = 0; steps < 100 && (await page.evaluate<boolean>(scrolled(direction))); steps++);
}

const { agent, session, memory, delivery } = await prepare()
const pages = [
  '/',
  '/console/sessions',
  `/console/sessions?open=${session}`,
  `/console/sessions/${session}`,
  ...['events', 'tools', 'files', 'context'].map(tab => `/console/sessions/${session}?tab=${tab}`),
  '/console/agents',
  `/console/agents/${agent}`,
  `/console/agents/${agent}?tab=versions`,
  '/console/skills',
  `/console/memories?agent=${agent}`,
  `/console/memories?agent=${agent}&open=${memory}`,
  '/console/inbox',
  '/console/logs',
  '/console/usage',
  '/console/webhooks',
  `/console/webhooks?tab=deliveries&open=${delivery}`,
  '/console/audit',
]

test('S38, S44: 200 hostile texts on every page run no script, open no dialog and contact no other host', async t => {
  const { page } = await openConsole(t, { service })
  for (const path of pages) {
    await visit(page, service.url, { path })
    await scrollThrough(page)
    assert.equal(await page.evaluate('globalThis.hit'), undefined, path)
    assert.equal(
      await page.locator('main img, main iframe:not([sandbox=""]), main object, main embed, main form[action]').count(),
      0,
      path,
    )
  }
})

test('S44: the transcript shows hostile texts as text, folded results and thinking included', async t => {
  const { page } = await openConsole(t, { service, path: `/console/sessions/${session}`, height: 2_000 })
  const transcript = page.getByTestId('transcript')
  await transcript.getByText('The last answer.', { exact: true }).waitFor()
  for (let round = 0; round < 6; round++) {
    // The last first, since each locator is a place among those that are folded.
    for (const row of (await transcript.getByRole('button', { expanded: false }).all()).toReversed())
      await row.click({ timeout: 500 }).catch(() => undefined)
    await page.evaluate(scrolled(-1))
  }
  assert.equal(await page.evaluate('globalThis.hit'), undefined)
  for (const link of await transcript.getByRole('link').all()) {
    const href = (await link.getAttribute('href')) ?? ''
    assert.match(href, /^(https?:|mailto:|\/)/)
  }
})
