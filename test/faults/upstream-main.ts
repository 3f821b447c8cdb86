// A scripted upstream as its own process: `upstream-main.ts <record> [port]`. Prints `{"port":n}`, adds a line to
// the record for each model call and for its end, and ends with its standard input.
import { appendFileSync } from 'node:fs'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import { type Recorded, startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const [record = '', port = '0'] = process.argv.slice(2)

interface Block {
  readonly text?: string
}

interface Message {
  readonly role: string
  readonly content: string | readonly Block[]
}

/** `p:<key> [<answers>]` as one text block: the name of a prompt, and the answers of the model, one per call. */
const prompt = /^p:(\S+) (\[.*\])$/s

const note = (entry: object) => appendFileSync(record, `${JSON.stringify({ at: Date.now(), ...entry })}\n`)

/** Follows the last prompt of the request; the messages after it determine which call this is. */
function answerTo({ body, closed }: Recorded): Answer {
  const messages = body['messages'] as readonly Message[]
  for (let at = messages.length - 1; at >= 0; at--) {
    const content = messages[at]?.content ?? []
    const blocks = typeof content === 'string' ? [{ text: content }] : content
    const found = blocks.flatMap(({ text }) => prompt.exec(text ?? '') ?? []).slice(-3)
    const [, key, script] = found
    if (key === undefined || script === undefined) continue
    const call = messages.slice(at).filter(({ role }) => role === 'assistant').length
    const answers = JSON.parse(script) as Answer[]
    const answer = answers[Math.min(call, answers.length - 1)] ?? {}
    return noted(answer, { key, call, closed })
  }
  // A summary of a conversation, or a prompt of a test's own.
  return noted({}, { key: 'no-script', call: 0, closed })
}

function noted(
  answer: Answer,
  { key, call, closed }: { key: string; call: number; closed: Recorded['closed'] },
): Answer {
  const outputTokens = answer.usage?.['output_tokens'] ?? 0
  note({ what: 'call', key, call, outputTokens })
  void closed.then(() => note({ what: 'closed', key, call, outputTokens }))
  return answer
}

const upstream = await startScriptedUpstream({ port: Number(port), script: answerTo })
process.stdout.write(`${JSON.stringify({ port: upstream.port })}\n`)
process.stdin.resume().on('end', () => void upstream.stop())
