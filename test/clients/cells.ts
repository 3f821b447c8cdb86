import assert from 'node:assert/strict'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import { markerScript } from '../support/upstream/marker-script.ts'
import { saying } from '../support/upstream/scripted-service.ts'
import type { Recorded } from '../support/upstream/scripted-upstream.ts'
import { aliasOf, everyProtocol, type SpokenProtocol, spoken } from '../support/upstream/spoken-protocols.ts'
import type { Client, Library } from './clients.ts'
import { type Driver, type Feature, type FeatureOfTurn, features, type OfferedTool, type Target } from './driver.ts'
import type { Program } from './programs.ts'

/** One client on models of one format: what of each feature came out; undefined where the client does not have it. */
export interface Cell {
  readonly client: string
  readonly protocol: SpokenProtocol
  readonly results: Results
}

type Results = Readonly<Partial<Record<Feature, 'passed' | { readonly failure: string }>>>

const answer = 'One two three four five six seven.'
const thought = 'Let me think about that.'
const summary = 'SUMMARY: the weather was asked for.'
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

/** Some programs make a JPEG of an image; so it begins in base64. */
const jpegStart = '/9j/'

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

/** What the upstream has got so far in this cell. */
interface Sent {
  readonly body: string
  readonly isStream: boolean
}

interface Exchange {
  readonly driver: Driver
  readonly target: Target
  readonly protocol: SpokenProtocol
  sent(): readonly Sent[]
}

/** Each tries one feature, and throws when something of it is lost. */
const trials: Readonly<Record<FeatureOfTurn, (exchange: Exchange) => Promise<void>>> = {
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
    assert.ok(asksForReasoning[protocol].test(sent()[0]?.body ?? ''), 'reasoning is asked for')
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

/** `text` as JSON writes it too: a program that prints its prompt does not print the answer by that. */
const disguised = (prompt: string): string =>
  [answer, thought].reduce(
    (text, said) => text.replaceAll(said, `\\u00${said.charCodeAt(0).toString(16)}${said.slice(1)}`),
    prompt,
  )

interface Turn extends Omit<Exchange, 'driver'> {
  readonly program: Program
}

/** One turn of a program tries all that it can do. */
async function turnOf({ program, target, protocol, sent }: Turn): Promise<Results> {
  const call = program.call("printf 'sunny in %s' Paris")
  const prompt = `Do this: ${saying({ thinking: thought, text: 'Looking.', tool_calls: [call] }, { text: answer })}`
  const printed = await program.turn(target, disguised(prompt), png).catch((error: Error) => error)
  const ofTurn = sent().filter(({ body }) => body.includes(`"name":"${call.name}"`))
  const [first, second] = ofTurn
  const checks: Readonly<Record<FeatureOfTurn, () => void>> = {
    stream: () => assert.ok(ofTurn.every(({ isStream }) => isStream)),
    tools() {
      assert.equal(ofTurn.length, 2)
      assert.ok(second?.body.includes('sunny in Paris'), 'the result of the tool goes back')
      assert.ok(String(printed).includes(answer), 'the last answer is printed')
    },
    reasoning() {
      assert.ok(asksForReasoning[protocol].test(first?.body ?? ''), 'reasoning is asked for')
      const isBack = /sig_\d+|"reasoning_content"|thought_toolu/.test(second?.body ?? '')
      assert.ok(isBack || String(printed).includes(thought), 'the reasoning is printed or goes back')
    },
    image: () => assert.ok(first?.body.includes(png) || first?.body.includes(jpegStart), 'the image arrives'),
  }
  const results = program.can.map(feature => [
    feature,
    printed instanceof Error ? failed(printed) : tried(checks[feature]),
  ])
  return Object.fromEntries(results) as Results
}

/** The first answer fills the context: the conversation is compacted before the turn continues. */
async function compactionOf({ program, target, sent }: Turn): Promise<Results> {
  if (!program.compacted) return {}
  const call = program.call("printf 'sunny in %s' Paris")
  const usage = { input_tokens: 300_000, output_tokens: 20 }
  const prompt = `Do this: ${saying({ text: 'Looking.', tool_calls: [call], usage })}`
  const printed = await program.compacted(target, prompt, png).catch((error: Error) => error)
  const check = () => {
    if (printed instanceof Error) throw printed
    assert.ok(printed.includes(answer), 'the last answer is printed')
    const [, compaction, last, ...others] = sent()
    assert.ok(compaction?.body.includes('sunny in Paris'), 'the summary is of the whole conversation')
    assert.ok(last?.body.includes(summary) && !last.body.includes('sunny in Paris'), 'it replaces the conversation')
    assert.equal(others.length, 0)
  }
  return { compaction: tried(check) }
}

const failed = (error: unknown) => ({ failure: error instanceof Error ? error.message : String(error) })

function tried(check: () => void): 'passed' | { readonly failure: string } {
  try {
    check()
    return 'passed'
  } catch (error) {
    return failed(error)
  }
}

async function callsOf(client: Library, exchange: (driver: Driver) => Exchange): Promise<Results> {
  const driver = await client.driver()
  const results: Partial<Record<Feature, 'passed' | { failure: string }>> = {}
  for (const feature of features)
    if (feature !== 'compaction' && driver[feature])
      results[feature] = await trials[feature](exchange(driver)).then(() => 'passed' as const, failed)
  return results
}

/** How a program, or the gateway in its place, asks for the summary of a conversation. */
const order = /CONTEXT CHECKPOINT COMPACTION|Summarize the conversation so far/

/** Side questions of programs, such as for a title, offer no tools: none is called there. */
function script(request: Recorded) {
  const sent = request.rawBody.toString()
  if (order.test(sent)) return { text: summary }
  if (sent.includes(summary)) return { text: answer }
  const said = markerScript(request)
  const { tools, toolConfig } = request.body
  return said.tool_calls && tools === undefined && toolConfig === undefined ? {} : said
}

/** A service before an upstream of every format, and the cells that are tried against it. */
export async function startCells(): Promise<{ cell(client: Client, protocol: SpokenProtocol): Promise<Cell> }> {
  const { service, upstreams } = await startEveryProtocol({ script })

  const cell = async (client: Client, protocol: SpokenProtocol): Promise<Cell> => {
    const exchange = () => {
      const before = upstreams[protocol].requests.length
      const sent = () =>
        upstreams[protocol].requests.slice(before).map(({ url, body, rawBody }) => ({
          body: rawBody.toString(),
          isStream: spoken[protocol].dialect.requestKind(url.split('?')[0] ?? '', body) === 'stream',
        }))
      return { target: { url: service.url, key: service.key, model: aliasOf(protocol) }, protocol, sent }
    }
    const results =
      'program' in client
        ? {
            ...(await turnOf({ ...exchange(), program: client.program })),
            ...(await compactionOf({ ...exchange(), program: client.program })),
          }
        : await callsOf(client, driver => ({ ...exchange(), driver }))
    return { client: client.name, protocol, results }
  }

  return { cell }
}
