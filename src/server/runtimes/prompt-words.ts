/** Joins texts as paragraphs, without blank ones. */
export const paragraphs = (...texts: readonly string[]): string => texts.filter(text => text.trim() !== '').join('\n\n')

/** Returns the words that state the user's time zone; empty when it is not set. */
export const timezoneNote = ({ timezone }: { readonly timezone: string | null }): string =>
  timezone === null ? '' : `The user's time zone is ${timezone}.`

/** Precedes a prompt that is sent again because its turn was interrupted. */
export const resumeInstruction =
  'Your last turn was interrupted. Check what is done already, do not repeat it, and finish what was asked. It was:'
