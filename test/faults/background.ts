import assert from 'node:assert/strict'
import { join } from 'node:path'
import { eventually } from '../support/service/eventually.ts'
import { type Answered, open } from '../support/service/send.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { sendOnce } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { scriptedText, startUpstream } from './upstream.ts'

interface Shown {
  readonly id: string
  readonly status: string
  readonly output: readonly { readonly content?: readonly { readonly text: string }[] }[]
  readonly error: { readonly code: string; readonly message: string } | null
}

const requestFor = (key: string, answer: Answer, stream: boolean) => ({
  model: 'scripted',
  input: scriptedText(key, [answer]),
  background: true,
  stream,
})

/** Starts a response and leaves at once. */
async function begin(site: Site, body: object): Promise<string> {
  const response = await open(site, 'POST /v1/responses', { body })
  let text = ''
  for await (const chunk of response) {
    text += String(chunk)
    const [, id] = /"id":\s*"(resp_[0-9a-f]+)"/.exec(text) ?? []
    if (id !== undefined) return id
  }
  return assert.fail(text)
}

const responseOf = async (site: Site, id: string): Promise<Shown> =>
  (await sendOnce(site, `GET /v1/responses/${id}`)).json<Shown>()

/** The numbers and types of all events of a response that has ended. */
const eventsOf = ({ text }: Answered) =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => {
    const { sequence_number, type } = JSON.parse(data) as { sequence_number: number; type: string }
    return `${sequence_number} ${type}`
  })

/**
 * kill -9 of the process that runs three background responses: one whose text a reader has, one whose stream has no text yet, and one
 * without a stream.
 */
export async function killUnderResponses(bench: Bench, { database }: { readonly database: string }) {
  const upstream = await startUpstream(bench)
  const shared = { upstream, database, dataDir: join(bench.folder, 'data') }
  const [one, other] = [await createSite(bench, shared), await createSite(bench, shared)]
  await one.start()
  const calls = (key: string) => upstream.record().filter(entry => entry.key === key && entry.what === 'call').length
  const text = 'a text of several deltas'
  const shown = await begin(one, requestFor('shown', { text: text.repeat(20), chunkDelayMs: 1_000 }, true))
  const readUntilText = async () => {
    const stream = await open(one, `GET /v1/responses/${shown}?stream=true`)
    let seen = ''
    for await (const chunk of stream) {
      seen += String(chunk)
      if (seen.includes('response.output_text.delta')) return seen
    }
    return assert.fail(seen)
  }
  const seen = (await readUntilText()).replaceAll(': keep-alive\n\n', '')
  const late = { text, delayMs: 8_000 }
  const [silent, whole] = await Promise.all([
    begin(one, requestFor('silent', late, true)),
    begin(one, requestFor('whole', late, false)),
  ])
  await eventually(() => calls('silent') + calls('whole') === 2, { withinMs: 30_000, what: 'the calls' })
  await one.kill()
  await other.start()
  const ended = (id: string) =>
    eventually(
      async () => {
        const response = await responseOf(other, id)
        return response.status !== 'queued' && response.status !== 'in_progress' && response
      },
      { withinMs: 120_000, what: 'the end of a response' },
    )
  const failed = await ended(shown)
  assert.equal(failed.status, 'failed')
  assert.equal(failed.error?.code, 'server_error')
  assert.match(failed.error?.message ?? '', /^the process that ran this response ended/)
  const replay = await sendOnce(other, `GET /v1/responses/${shown}?stream=true`)
  assert.ok(replay.text.startsWith(seen.slice(0, seen.lastIndexOf('\n\n') + 2)), 'a stream contradicts itself')
  assert.deepEqual(
    eventsOf(replay).map(event => Number(event.split(' ')[0])),
    eventsOf(replay).map((_, at) => at),
  )
  assert.match(eventsOf(replay).at(-1) ?? '', /response\.failed$/)

  for (const id of [silent, whole]) {
    const { status, output } = await ended(id)
    assert.deepEqual([status, output[0]?.content?.[0]?.text], ['completed', text])
  }
  const again = eventsOf(await sendOnce(other, `GET /v1/responses/${silent}?stream=true`))
  assert.equal(again.filter(event => event.endsWith('response.in_progress')).length, 1)
  assert.deepEqual([calls('shown'), calls('silent'), calls('whole')], [1, 2, 2])
  return { calls: upstream.record().filter(({ what }) => what === 'call').length }
}

export const backgroundCases: readonly FaultCase[] = [
  {
    id: 'V11',
    group: 'background',
    title: 'kill -9 under three background responses: with text, without text, without a stream',
    run: async bench => ({
      rounds: 1,
      numbers: await killUnderResponses(bench, { database: await bench.cluster.database() }),
    }),
  },
]
