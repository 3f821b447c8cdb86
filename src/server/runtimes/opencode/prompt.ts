import { recordOf, textOf } from '../../platform/json.ts'
import { paragraphs, resumeInstruction, timezoneNote } from '../prompt-words.ts'
import type { RunPrompt, RunSession } from '../runtime.ts'
import type { ListedMessage, PromptBody } from './api.ts'

interface Sent {
  readonly session: RunSession
  readonly prompt: RunPrompt
  /** Text block with the agent's memories; empty without any. */
  readonly memories: string
  /** The server's name of the model; undefined lets the server choose. */
  readonly model: PromptBody['model']
  /** True when the prompt was sent before and its turn was interrupted. */
  readonly isAgain: boolean
}

/** Returns the body of a prompt. */
export function promptBody({ session, prompt, memories, model, isAgain }: Sent): PromptBody {
  const system = paragraphs(prompt.system ?? session.system, timezoneNote(session), memories)
  return {
    ...(model && { model }),
    ...(system !== '' && { system }),
    parts: textsOf(prompt, isAgain).map(text => ({ type: 'text', text })),
  }
}

const textsOf = ({ parts }: RunPrompt, isAgain: boolean): string[] => [
  ...(isAgain ? [resumeInstruction] : []),
  ...parts.map(({ text }) => text),
]

/**
 * Returns the id of a prompt's message: among those after `after`, the one with the same text. opencode stores the text
 * a moment after the message, so one without text counts too. If the server has accepted the prompt, any message
 * counts, since a plug-in may have changed the text.
 */
export function ownMessage(
  messages: readonly ListedMessage[],
  { prompt, after, isAgain, wasConfirmed }: Pick<Sent, 'prompt' | 'isAgain'> & Sought,
): string | undefined {
  const candidates = messages.filter(({ info }) => info['role'] === 'user' && textOf(info['id']) > after)
  const text = textsOf(prompt, isAgain).join('\n')
  const exact = candidates.find(message => promptText(message) === text)
  const found =
    exact ?? candidates.find(message => promptText(message) === '') ?? (wasConfirmed ? candidates[0] : undefined)
  return found && textOf(found.info['id'])
}

interface Sought {
  readonly after: string
  readonly wasConfirmed: boolean
}

/** Returns the user's text, without parts that opencode added. */
const promptText = ({ parts }: ListedMessage): string =>
  parts
    .filter(part => part['type'] === 'text' && part['synthetic'] !== true)
    .map(part => textOf(recordOf(part)['text']))
    .join('\n')
