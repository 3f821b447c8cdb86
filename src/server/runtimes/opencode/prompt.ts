import { recordOf, textOf } from '../../platform/json.ts'
import { paragraphs, resumeInstruction, textOfPart, timezoneNote } from '../prompt-words.ts'
import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'
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
  /** Returns the content of a file. Absent for a server on this machine: it has the files in its folder. */
  readonly fileContent: RunContext['fileContent'] | undefined
}

/** Returns the body of a prompt. A remote server gets files in `data:` URLs. */
export async function promptBody(sent: Sent): Promise<PromptBody> {
  const { session, prompt, memories, model, fileContent } = sent
  const system = paragraphs(prompt.system ?? session.system, timezoneNote(session), memories)
  return {
    ...(model && { model }),
    ...(system !== '' && { system }),
    parts: [
      ...textsOf(sent).map(text => ({ type: 'text' as const, text })),
      ...(fileContent ? await filesOf(prompt, fileContent) : []),
    ],
  }
}

const textsOf = ({ prompt: { parts }, isAgain, fileContent }: Pick<Sent, 'prompt' | 'isAgain' | 'fileContent'>) => [
  ...(isAgain ? [resumeInstruction] : []),
  ...(fileContent ? parts.filter(part => part.type === 'text') : parts).map(textOfPart),
]

async function filesOf({ parts }: RunPrompt, content: RunContext['fileContent']) {
  const files: PromptBody['parts'][number][] = []
  for (const part of parts) {
    if (part.type !== 'file') continue
    const url = `data:${part.media_type};base64,${(await content(part)).toString('base64')}`
    files.push({ type: 'file', mime: part.media_type, filename: part.name, url })
  }
  return files
}

/**
 * Returns the id of a prompt's message: among those after `after`, the one with the same text. opencode stores the text
 * a moment after the message, so one without text counts too. If the server has accepted the prompt, any message
 * counts, since a plug-in may have changed the text.
 */
export function ownMessage(
  messages: readonly ListedMessage[],
  { after, wasConfirmed, ...sent }: Pick<Sent, 'prompt' | 'isAgain' | 'fileContent'> & Sought,
): string | undefined {
  const candidates = messages.filter(({ info }) => info['role'] === 'user' && textOf(info['id']) > after)
  const text = textsOf(sent).join('\n')
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
