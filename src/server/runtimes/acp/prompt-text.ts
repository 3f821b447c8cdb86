import { askedBy, type NewEvent, type TextBlock } from '../../../contract/events.ts'
import { textOf } from '../../platform/json.ts'
import { pastEntry, pastText } from '../past-words.ts'
import { goOnWords, paragraphs, placeOf } from '../prompt-words.ts'
import type { RunPrompt, RunSession } from '../runtime.ts'

/** What the log tells of a session before its program is asked anything. */
export interface Past {
  /** What was said and done, one entry an event, without the prompt of this run. */
  readonly said: readonly string[]
  /** Calls without a result. */
  readonly openCalls: readonly string[]
  /** True while the log says that a person is asked. */
  readonly isWaiting: boolean
}

/** Reads the log. */
export async function readPast(history: AsyncIterable<NewEvent>, promptId: string): Promise<Past> {
  const said: string[] = []
  const open = new Set<string>()
  let isWaiting = false
  for await (const event of history) {
    if (event['prompt_id'] !== promptId || event.type !== 'user.message') said.push(...pastEntry(event))
    if (event.type === 'agent.tool_use') open.add(textOf(event['tool_use_id']))
    if (event.type === 'agent.tool_result') open.delete(textOf(event['tool_use_id']))
    if (event.type === 'session.status_idle') isWaiting = askedBy(event).length > 0
    if (event.type === 'session.status_running') isWaiting = false
  }
  return { said, openCalls: [...open], isWaiting }
}

interface Sent {
  readonly session: Pick<RunSession, 'system' | 'timezone'>
  readonly prompt: Pick<RunPrompt, 'parts' | 'system'>
  /** Block that holds the agent's memories; empty without any. */
  readonly memories: string
  readonly past: Pick<Past, 'said'>
  /** False when the program remembers the conversation. */
  readonly isNew: boolean
  /** True when the program was given the prompt before, and was cut off. */
  readonly isAgain: boolean
}

/** The text of a prompt. The protocol has no place for a system prompt: it stands in front of the first one. */
export function promptText({ session, prompt, memories, past, isNew, isAgain }: Sent): string {
  const system = prompt.system ?? (isNew ? session.system : '')
  const text = joined(prompt.parts)
  return paragraphs(
    system,
    isNew ? placeOf(session) : '',
    isNew ? memories : '',
    isNew ? pastText(past.said) : '',
    isAgain ? `${goOnWords}\n${text}` : text,
  )
}

const joined = (parts: readonly TextBlock[]): string => parts.map(({ text }) => text).join('\n')
