import assert from 'node:assert/strict'
import { startEveryProtocol } from '../support/every-protocol.ts'
import { saying } from '../support/scripted-service.ts'
import { aliasOf, everyProtocol, type SpokenProtocol, spoken } from '../support/spoken-protocols.ts'
import { type Client, type Driver, type Feature, features, type OfferedTool, type Target } from './clients.ts'

/** One client on models of one format: what of each feature came out; undefined where the client does not have it. */
export interface Cell {
  readonly client: string
  readonly protocol: SpokenProtocol
  readonly results: Readonly<Partial<Record<Feature, 'passed' | { readonly failure: string }>>>
}

const answer = 'One two three four five six seven.'
const thought = 'Let me think about that.'
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

const weather: OfferedTool = {
  name: 'get_weather',
  description: 'Returns the weather of a city.',
  argument: 'city',
  execute: ({ city }) => `sunny in ${city}`,
}

const turn = saying(
  {
    thinking: thought,
    text: 'Looking.',
    tool_calls: [{ name: weather.name, input: { city: 'Paris' } }],
  },
  { text: answer },
)

/** How a request to an upstream of each format asks for reasoning. */
const asksForReasoning: Readonly<Record<SpokenProtocol, RegExp>> = {
  'anthropic-messages': /"thinking":\{"type":"(adaptive|enabled)"/,
  'openai-chat': /"reasoning_effort":|"reasoning":\{/,
  'openai-responses': /"reasoning":\{/,
  gemini: /"thinkingConfig":\{/,
  'bedrock-converse': /"thinking":\{"type":"(adaptive|enabled)"/,
}

interface Exchange {
  readonly driver: Driver
  readonly target: Target
  readonly protocol: SpokenProtocol
  /** The bodies that the upstream has got so far in this cell, and whether each asked for a stream. */
  sent(): readonly { readonly body: string; readonly isStream: boolean }[]
}

/** Each tries one feature, and throws when something of it is lost. */
const trials: Readonly<Record<Feature, (exchange: Exchange) => Promise<void>>> = {
  async stream({ driver, target, sent }) {
    const { text, pieces = 0 } = (await driver.stream?.(target, saying({ text: answer }))) ?? assert.fail()
    assert.equal(text, answer)
    assert.ok(pieces > 1, `the text arrived in ${pieces} pieces`)
    assert.ok(sent().every(({ isStream }) => isStream))
  },
  async tools({ driver, target, sent }) {
    const { text } = (await driver.tools?.(target, turn, weather)) ?? assert.fail()
    assert.ok(text.endsWith(answer), `the last answer is ${JSON.stringify(text)}`)
    const [first, second, third] = sent()
    assert.ok(first?.body.includes(weather.description), 'the tool is offered')
    assert.ok(second?.body.includes('sunny in Paris'), 'the result of the tool goes back')
    assert.ok(second?.body.includes('Looking.'), 'the first answer goes back')
    assert.equal(third, undefined)
  },
  async reasoning({ driver, target, protocol, sent }) {
    const prompt = saying({ thinking: thought, text: answer })
    const { text, reasoning } = (await driver.reasoning?.(target, prompt)) ?? assert.fail()
    assert.deepEqual({ text, reasoning }, { text: answer, reasoning: thought })
    assert.match(sent()[0]?.body ?? '', asksForReasoning[protocol])
  },
  async image({ driver, target, sent }) {
    const { text } = (await driver.image?.(target, saying({ text: answer }), png)) ?? assert.fail()
    assert.equal(text, answer)
    assert.ok(sent()[0]?.body.includes(png), 'the image arrives')
  },
}

/** Formats of models that `client` does not speak itself. */
export const foreignTo = ({ speaks }: Client): readonly SpokenProtocol[] =>
  everyProtocol.filter(protocol => protocol !== speaks)

/** A service before an upstream of every format, and the cells that are tried against it. */
export async function startCells(): Promise<{ cell(client: Client, protocol: SpokenProtocol): Promise<Cell> }> {
  const { service, upstreams } = await startEveryProtocol()

  async function cell(client: Client, protocol: SpokenProtocol): Promise<Cell> {
    const driver = await client.driver()
    const target = { url: service.url, key: service.key, model: aliasOf(protocol) }
    const results: Partial<Record<Feature, 'passed' | { failure: string }>> = {}
    for (const feature of features) {
      if (!driver[feature]) continue
      const before = upstreams[protocol].requests.length
      const sent = () =>
        upstreams[protocol].requests.slice(before).map(({ url, body, rawBody }) => ({
          body: rawBody.toString(),
          isStream: spoken[protocol].dialect.ask(url.split('?')[0] ?? '', body) === 'stream',
        }))
      results[feature] = await trials[feature]({ driver, target, protocol, sent }).then(
        () => 'passed' as const,
        (error: unknown) => ({ failure: error instanceof Error ? error.message : String(error) }),
      )
    }
    return { client: client.name, protocol, results }
  }

  return { cell }
}
