import type { FilePart } from '../../contract/prompt-files.ts'
import type { PromptPart } from '../../contract/prompts.ts'

/** Returns the words that tell a model or a program where a file of the user is. */
export const fileNote = ({ name, media_type, size, path }: FilePart): string =>
  `[The user attached the file ${name} (${media_type}, ${size} bytes). It is in the working folder as ${path}]`

/** Returns a part of a prompt as text: of a file the note that says where it is. */
export const textOfPart = (part: PromptPart): string => (part.type === 'file' ? fileNote(part) : part.text)

/** Joins texts as paragraphs, without blank ones. */
export const paragraphs = (...texts: readonly string[]): string => texts.filter(text => text.trim() !== '').join('\n\n')

/** Returns the words that state the user's time zone; empty when it is not set. */
export const timezoneNote = ({ timezone }: { readonly timezone: string | null }): string =>
  timezone === null ? '' : `The user's time zone is ${timezone}.`

/** Precedes a prompt that is sent again because its turn was interrupted. */
export const resumeInstruction =
  'Your last turn was interrupted. Check what is done already, do not repeat it, and finish what was asked. It was:'
