import { recordOf, textOf } from '../../platform/json.ts'
import { goOnWords, paragraphs, placeOf } from '../prompt-words.ts'
import type { RunPrompt, RunSession } from '../runtime.ts'
import type { ListedMessage, PromptBody } from './api.ts'

interface Sent {
  readonly session: RunSession
  readonly prompt: RunPrompt
  /** Block that holds the agent's memories; empty without any. */
  readonly memories: string
  /** As the server names it; undefined leaves the choice to the server. */
  readonly model: PromptBody['model']
  /** True when it was sent before, and its turn was cut off. */
  readonly isAgain: boolean
}

/** A prompt as opencode takes it. */
export function promptBody({ session, prompt, memories, model, isAgain }: Sent): PromptBody {
  const system = paragraphs(prompt.system ?? session.system, placeOf(session), memories)
  return {
    ...(model && { model }),
    ...(system !== '' && { system }),
    parts: textsOf(prompt, isAgain).map(text => ({ type: 'text', text })),
  }
}

const textsOf = ({ parts }: RunPrompt, isAgain: boolean): string[] => [
  ...(isAgain ? [goOnWords] : []),
  ...parts.map(({ text }) => text),
]

/**
 * The id of the message that a prompt became. Among those behind `after` it is the one with the same text; opencode
 * stores the text a moment after the message, so one without any text counts too. When it is known that the prompt
 * was taken, any will do: a plug-in may have changed the text.
 */
export function ownMessage(
  messages: readonly ListedMessage[],
  { prompt, after, isAgain, wasTaken }: Pick<Sent, 'prompt' | 'isAgain'> & Sought,
): string | undefined {
  const asked = messages.filter(({ info }) => info['role'] === 'user' && textOf(info['id']) > after)
  const text = textsOf(prompt, isAgain).join('\n')
  const exact = asked.find(message => textSaid(message) === text)
  const found = exact ?? asked.find(message => textSaid(message) === '') ?? (wasTaken ? asked[0] : undefined)
  return found && textOf(found.info['id'])
}

interface Sought {
  readonly after: string
  readonly wasTaken: boolean
}

/** What the user wrote, without what opencode added. */
const textSaid = ({ parts }: ListedMessage): string =>
  parts
    .filter(part => part['type'] === 'text' && part['synthetic'] !== true)
    .map(part => textOf(recordOf(part)['text']))
    .join('\n')
