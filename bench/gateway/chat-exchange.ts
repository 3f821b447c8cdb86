// The answers of the fake upstream in the dialect of OpenAI's chat completions; as many events as in Anthropic's.
import { answerText, deltasPerStream, type Kind, stampedText } from '../exchange.ts'

const usage = { prompt_tokens: 700, completion_tokens: 95, total_tokens: 795 }
const head = { id: 'chatcmpl-01', object: 'chat.completion.chunk', created: 1_790_000_000, model: 'bench' }

/** The whole answer. */
export const chatAnswer: Buffer = Buffer.from(
  JSON.stringify({
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: answerText }, finish_reason: 'stop' }],
    usage,
  }),
)

const frame = (data: object): string => `data: ${JSON.stringify({ ...head, ...data })}\n\n`
const choice = (delta: object, finish_reason: string | null = null): string =>
  frame({ choices: [{ index: 0, delta, finish_reason }] })

/** All events of a stream; each is made when it is asked for, so that its time stamp is right. */
export function* chatFrames(): Generator<string, undefined> {
  yield choice({ role: 'assistant' })
  yield choice({ content: '' })
  for (let number = 0; number < deltasPerStream; number++) yield choice({ content: stampedText(number) })
  yield choice({}, 'stop')
  yield frame({ choices: [], usage })
  yield 'data: [DONE]\n\n'
}

/** Where the chat completions of a kind are: translators write the model wherever they like, but keep the path. */
export const chatBaseOf = (kind: Kind): string => `/chat/${kind}/v1`
