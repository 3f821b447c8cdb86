import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { startService } from '../support/service/service.ts'
import { startEndpointUpstream } from '../support/upstream/endpoint-upstream.ts'

const upstream = await startEndpointUpstream()
const service = await startService({
  config: JSON.stringify({
    model_list: [
      { model_name: 'openai/*', params: { model: 'openai/*', api_base: `${upstream.url}/v1`, api_key: 'sk-upstream' } },
    ],
    outbound: { allow: [new URL(upstream.url).host] },
  }),
})
after(() => upstream.stop())
const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: service.key, maxRetries: 0 })
const answer = (value: object) => upstream.answer({ body: JSON.stringify(value) })
const sound = () => new File([Buffer.alloc(5_000, 1)], 'hello.mp3', { type: 'audio/mpeg' })

test('openai: audio.speech gives the bytes of the upstream', async () => {
  const bytes = Buffer.alloc(100_000, 3)
  upstream.answer({ type: 'audio/mpeg', body: bytes })
  const speech = await client.audio.speech.create({ model: 'openai/tts-1', voice: 'alloy', input: 'Hello' })
  assert.ok(Buffer.from(await speech.arrayBuffer()).equals(bytes))
  assert.equal(upstream.last().url, '/v1/audio/speech')
})

test('openai: audio.transcriptions and translations upload their file', async () => {
  answer({ text: 'hello', usage: { type: 'duration', seconds: 2 } })
  const { text } = await client.audio.transcriptions.create({ model: 'openai/whisper-1', file: sound() })
  assert.equal(text, 'hello')
  assert.match(upstream.last().body.toString('latin1'), /filename="hello.mp3"/)
  assert.match(upstream.last().body.toString('latin1'), /name="model"\r\n\r\nwhisper-1\r\n/)
  const translated = await client.audio.translations.create({ model: 'openai/whisper-1', file: sound() })
  assert.equal(translated.text, 'hello')
})

test('openai: audio.transcriptions streams its events', async () => {
  const done = {
    type: 'transcript.text.done',
    text: 'hello',
    usage: { type: 'tokens', input_tokens: 5, output_tokens: 2 },
  }
  const events = [{ type: 'transcript.text.delta', delta: 'hello' }, done]
  upstream.answer({ type: 'text/event-stream', body: events.map(event => `data: ${JSON.stringify(event)}\n\n`) })
  const stream = await client.audio.transcriptions.create({
    model: 'openai/gpt-4o-transcribe',
    file: sound(),
    stream: true,
  })
  assert.deepEqual(await Array.fromAsync(stream), events)
})

test('openai: images.generate and edit, with a mask', async () => {
  answer({ created: 1, data: [{ b64_json: 'aGk=' }] })
  const made = await client.images.generate({ model: 'openai/gpt-image-1', prompt: 'a cat' })
  assert.equal(made.data?.[0]?.b64_json, 'aGk=')
  const picture = () => new File(['png'], 'a.png', { type: 'image/png' })
  const edit = { model: 'openai/gpt-image-1', prompt: 'more' }
  assert.ok((await client.images.edit({ ...edit, image: picture(), mask: picture() })).data)
  assert.ok((await client.images.edit({ ...edit, image: [picture(), picture()] })).data)
})

test('openai: moderations name no model, embeddings and completions do', async () => {
  answer({ id: 'modr-1', model: 'omni-moderation-latest', results: [{ flagged: false }] })
  const moderation = await client.moderations.create({ input: 'hello' })
  assert.equal(moderation.results[0]?.flagged, false)
  assert.equal(JSON.parse(upstream.last().body.toString()).model, 'omni-moderation-latest')
  answer({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: 'AACAPw==' }],
    model: 'text-embedding-3-small',
    usage: { prompt_tokens: 2 },
  })
  const { data } = await client.embeddings.create({ model: 'openai/text-embedding-3-small', input: 'hello' })
  assert.deepEqual(data[0]?.embedding, [1])
  answer({ choices: [{ text: 'there', index: 0, finish_reason: 'stop' }] })
  const completion = await client.completions.create({ model: 'openai/gpt-3.5-turbo-instruct', prompt: 'hello' })
  assert.equal(completion.choices[0]?.text, 'there')
})

test('openai: what the calls used is in the ledger, by unit and with its price', async () => {
  interface Call {
    readonly model: string
    readonly units: Readonly<Record<string, number>> | null
    readonly cost_usd: string | null
  }
  const headers = { authorization: `Bearer ${service.key}` }
  const read = async () => {
    const response = await fetch(`${service.url}/api/usage/calls?limit=50`, { headers })
    return ((await response.json()) as { calls: readonly Call[] }).calls
  }
  for (let calls = await read(); ; calls = await read()) {
    if (calls.length < 9) continue
    const of = (model: string) =>
      calls.filter(call => call.model === model).map(({ units, cost_usd }) => [units, cost_usd])
    assert.deepEqual(of('openai/tts-1'), [[{ character: 5 }, '0.000075']])
    assert.deepEqual(of('openai/whisper-1')[0], [{ second: 2 }, '0.0002'])
    return
  }
})
