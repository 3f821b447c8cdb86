import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole, startConsole } from '../support/console/browser.ts'
import { hostileTexts } from '../support/console/hostile-texts.ts'
import { configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
after(() => upstream.stop())
const service = await startConsole({ config: configFor(upstream), key: null })
/** Names must not contain control characters. */
const names = hostileTexts.filter(text => !/\p{Cc}/u.test(text) && text.length < 150).slice(0, 60)

async function post<Answer>(path: string, body: object): Promise<Answer> {
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`)
  return (await response.json()) as Answer
}

const pick = (at: number): string => names[at % names.length] ?? ''
const inParts = (texts: readonly string[], size: number): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(texts.length / size) }, (_, at) => texts.slice(at * size, (at + 1) * size))

/** An agent, a session with every text as message and as output of a tool, and objects with hostile names. */
async function prepare(): Promise<{ readonly agent: string; readonly session: string }> {
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
          input: { path: `${texts[2]?.replaceAll(/[/\0]/g, '_').slice(0, 80)}.html`, content: texts.join('\n') },
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
  await post('/api/v1/skills', {
    name: 'hostile',
    description: pick(5),
    content: hostileTexts.slice(0, 60).join('\n\n'),
  })
  return { agent, session }
}

/** Scrolls everything that scrolls to its end in steps, so that each row was in the document. */
async function scrollThrough(page: Page): Promise<void> {
  for (let step = 0; step < 12; step++) {
    await page.mouse.wheel(0, 2_000)
    await page.waitForTimeout(30)
  }
}

const { agent, session } = await prepare()
const pages = [
  '/',
  '/console/sessions',
  `/console/sessions?open=${session}`,
  `/console/sessions/${session}`,
  '/console/agents',
  `/console/agents/${agent}`,
  `/console/agents/${agent}?tab=versions`,
  '/console/skills',
  `/console/memories?agent=${agent}`,
  '/console/inbox',
  '/console/logs',
  '/console/usage',
  '/console/webhooks',
  '/console/audit',
]

test('200 hostile texts on every page run no script, open no dialog and contact no other host', async t => {
  const { page } = await openConsole(t, { service })
  for (const path of pages) {
    await page.goto(`${service.url}${path}`)
    await page.locator('main h1, aside h2').first().waitFor()
    await page.mouse.move(700, 500)
    await scrollThrough(page)
    assert.equal(await page.evaluate('globalThis.hit'), undefined, path)
    assert.equal(
      await page.locator('main img, main iframe:not([sandbox=""]), main object, main embed, main form[action]').count(),
      0,
      path,
    )
  }
})

test('the transcript shows hostile texts as text, folded results and thinking included', async t => {
  const { page } = await openConsole(t, { service, path: `/console/sessions/${session}`, height: 2_000 })
  const transcript = page.getByTestId('transcript')
  await transcript.getByText('The last answer.', { exact: true }).waitFor()
  for (let round = 0; round < 6; round++) {
    for (const row of await transcript.getByRole('button', { expanded: false }).all())
      await row.click({ timeout: 500 }).catch(() => undefined)
    await page.mouse.move(600, 900)
    await page.mouse.wheel(0, -1_500)
    await page.waitForTimeout(50)
  }
  assert.equal(await page.evaluate('globalThis.hit'), undefined)
  for (const link of await transcript.getByRole('link').all()) {
    const href = (await link.getAttribute('href')) ?? ''
    assert.match(href, /^(https?:|mailto:|\/)/)
  }
})
