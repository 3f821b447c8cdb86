import type { Answer } from '../upstream/scripted-answer.ts'
import type { Recorded } from '../upstream/scripted-upstream.ts'

interface Block {
  readonly type?: string
  readonly text?: string
  readonly content?: unknown
}

interface Message {
  readonly role: string
  readonly content: string | readonly Block[]
}

/**
 * An agent that writes a file with its tool, and says what it read: version 2 has a wrong answer for `beta`, and uses more
 * tokens; version 3 calls another tool as well. A judge that answers by its rubric. Other prompts are repeated.
 */
export function evaluationScript({ body }: Pick<Recorded, 'body'>): Answer {
  const messages = body['messages'] as readonly Message[]
  const system = JSON.stringify(body['system'] ?? '')
  if (system.includes('You grade the answer')) return judged(messages)
  const prompt = textOf(messages.findLast(message => message.role === 'user' && textOf(message) !== ''))
  if (prompt.includes('refuse')) return { status: 400, error: 'the prompt is refused' }
  const version = /version (\d)/.exec(system)?.[1]
  if (version === undefined) return { text: prompt.includes('slow') ? 'late' : prompt, ...slowness(prompt) }
  const results = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content)).filter(isResult)
  if (results.length === 0) return { tool_calls: [call(prompt, version)] }
  if (version === '3' && results.length === 1) return { tool_calls: [{ name: 'read', input: { path: 'touched.txt' } }] }
  const usage = { input_tokens: 100, output_tokens: version === '2' ? 1_000 : 100 }
  if (version === '2' && prompt === 'beta') return { text: 'no idea', usage }
  return { text: `I found ${JSON.stringify(results[0]?.content)}`, usage }
}

const call = (word: string, version: string) => ({
  name: 'bash',
  // The arguments of version 2 differ from those that were recorded.
  input: { command: `${version === '2' ? 'true; ' : ''}echo token-${word} > touched.txt; cat touched.txt` },
})

const slowness = (prompt: string) => (prompt.includes('slow') ? { delayMs: 60_000 } : {})

const isResult = ({ type }: Block): boolean => type === 'tool_result'

const textOf = (message: Message | undefined): string => {
  const content = message?.content ?? ''
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
}

function judged(messages: readonly Message[]): Answer {
  const question = JSON.parse(textOf(messages[0])) as { readonly rubric: string }
  if (question.rubric.includes('nonsense')) return { text: 'I like it a lot' }
  if (question.rubric.includes('repair') && messages.length === 1) return { text: '```json {"score": 1} ```' }
  return { text: JSON.stringify({ score: question.rubric.includes('bad') ? 0.1 : 0.8, reason: 'as the rubric says' }) }
}
